// The inputs of an ONNX graph: their types and shapes, symbolic dimensions resolved. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_INPUTS_H_
#define OCTAVO_IMPORT_ONNX_INPUTS_H_

#include <string>

#include "import/import.h"
#include "import/onnx/node_reader.h"

namespace onnx {
class GraphProto;
}

namespace octavo::onnx_import {

// Adds the graph's inputs to `building`. Those that are initializers too (old exports) are constants already and are
// passed over.
void read_inputs(const onnx::GraphProto& graph, const std::string& file, const ImportOptions& options,
                 Building& building);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_INPUTS_H_
