// An ONNX model, already parsed, becomes a graph. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_IMPORTER_H_
#define OCTAVO_IMPORT_ONNX_IMPORTER_H_

#include <string>

#include "import/import.h"
#include "import/onnx/proto.h"

namespace octavo::onnx_import {

// Takes the initializers' data out of `model` on the way, so that it is not held twice.
Result<ImportedModel> import_parsed(onnx::ModelProto& model, const std::string& folder, const std::string& file,
                                    const ImportOptions& options);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_IMPORTER_H_
