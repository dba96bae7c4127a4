// ONNX files as they are read and written whole, without their meaning. Part of analyze/.
#ifndef OCTAVO_ANALYZE_ONNX_FILE_H_
#define OCTAVO_ANALYZE_ONNX_FILE_H_

#include <string>

#include "base/result.h"
#include "import/onnx/proto.h"

namespace octavo {

// With the data of other files inside. Errors: those of reading; unsupported: more than a file holds (2 GiB).
Result<onnx::ModelProto> read_onnx_whole(const std::string& path);
// Errors: resource (cannot be written), unsupported (2 GiB or more).
Status write_onnx(const std::string& path, const onnx::ModelProto& model);

// The node's name, else that of its first output.
const std::string& name_of_onnx_node(const onnx::NodeProto& node);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_ONNX_FILE_H_
