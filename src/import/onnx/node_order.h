// The order in which the nodes of an ONNX graph are read. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_NODE_ORDER_H_
#define OCTAVO_IMPORT_ONNX_NODE_ORDER_H_

#include <vector>

namespace onnx {
class GraphProto;
}

namespace octavo::onnx_import {

// Every node once, each behind those whose results it or a graph inside it reads; else as the file has them. Nodes of a
// cycle, and those behind one, come last, in the file's order.
std::vector<int> order_of_computation(const onnx::GraphProto& graph);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_NODE_ORDER_H_
