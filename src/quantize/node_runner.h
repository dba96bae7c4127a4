// run_nodes: an fp32 graph computed node after node on real tensors, by kernels with the same bits on every
// machine. Part of quantize/. For work that goes through a network node after node and changes it on the way.
#ifndef OCTAVO_QUANTIZE_NODE_RUNNER_H_
#define OCTAVO_QUANTIZE_NODE_RUNNER_H_

#include <functional>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

// Tensors of one sample: a graph's inputs or outputs, or a node's outputs.
using SampleTensors = std::vector<Tensor>;

// Called after each node with its outputs on every sample; may change them before others read them.
using NodeVisitor = std::function<Status(const Node& node, std::vector<SampleTensors>& outputs)>;

// Runs the graph on all samples in step: each node on every sample before the next one. Returns its outputs by sample.
// Values are dropped after their last reader. One sample is computed by all cores, several by one core each; their
// bits do not depend on how many there are.
Result<std::vector<SampleTensors>> run_nodes(const Graph& graph, const std::vector<SampleTensors>& samples,
                                             const NodeVisitor& visit);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_NODE_RUNNER_H_
