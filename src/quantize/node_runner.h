// node_runner: one node of an fp32 graph, computed on real tensors by the kernels that a compiled fp32 model would use. Part of quantize/.
// For work that goes through a network node after node and changes it on the way.
#ifndef OCTAVO_QUANTIZE_NODE_RUNNER_H_
#define OCTAVO_QUANTIZE_NODE_RUNNER_H_

#include <functional>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

// The node's outputs. `inputs` are the values of its inputs, an empty Tensor where one is left out or constant in the graph.
Result<std::vector<Tensor>> run_node(const Graph& graph, const Node& node, const std::vector<Tensor>& inputs);

// Called after each node; may change its outputs before others read them.
using NodeVisitor = std::function<Status(const Node& node, std::vector<Tensor>& outputs)>;

// Runs the whole graph node after node and returns its outputs. Values are dropped after their last reader.
Result<std::vector<Tensor>> run_nodes(const Graph& graph, const std::vector<Tensor>& inputs, const NodeVisitor& visit);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_NODE_RUNNER_H_
