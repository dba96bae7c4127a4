// The protobuf classes of ONNX, and reading one from bytes that may be hostile. Part of import/.
// Only the container format comes from Debian's onnx; every meaning is ours.
#ifndef OCTAVO_IMPORT_ONNX_PROTO_H_
#define OCTAVO_IMPORT_ONNX_PROTO_H_

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace octavo::onnx_import {

// Reads a whole file or buffer: a protobuf message, or ONNX Runtime's own format (ort_format.h). Nested messages and
// sizes are bounded; nothing is printed.
Result<onnx::ModelProto> parse_model_file(const std::string& path);
Result<onnx::ModelProto> parse_model_bytes(std::span<const std::byte> bytes, const std::string& file);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_PROTO_H_
