// The order of nodes in an ONNX file: which stand on a cycle. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_ORDER_H_
#define OCTAVO_IMPORT_ONNX_ORDER_H_

#include <vector>

namespace onnx {
class GraphProto;
}

namespace octavo::onnx_import {

// One entry per node: true for nodes on a cycle or between two cycles.
std::vector<bool> nodes_on_cycles(const onnx::GraphProto& graph);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_ORDER_H_
