// Runners: compute chosen values of an fp32 graph for one sample. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_RUNNER_H_
#define OCTAVO_QUANTIZE_RUNNER_H_

#include <functional>
#include <memory>
#include <vector>

#include "graph/graph.h"

namespace octavo {

class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  // Calls `visit` with the position of each chosen value and its elements, in any order. `inputs` in the order of graph.inputs().
  using Visit = std::function<void(std::size_t chosen, const ConstTensorView& value)>;
  virtual Status run(const std::vector<Tensor>& inputs, const Visit& visit) = 0;
};

// Node by node through the operators' references: slow and normative. `graph` must outlive it.
std::unique_ptr<GraphRunner> make_reference_runner(const Graph& graph, std::vector<ValueId> chosen);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_RUNNER_H_
