// Local functions of an ONNX model, put where they are called. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_FUNCTIONS_H_
#define OCTAVO_IMPORT_ONNX_FUNCTIONS_H_

#include "import/builder.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace octavo::onnx_import {

// Every call becomes the nodes of its function, also inside graphs of nodes and of other functions; inner names begin
// with that of the call. Reports functions that call themselves, that are of another opset than the model, and calls
// that make more nodes than any network has.
void inline_functions(onnx::ModelProto& model, importing::GraphBuilder& built);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_FUNCTIONS_H_
