// An fp32 graph compiled so that chosen values inside it can be seen. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_OBSERVED_NETWORK_H_
#define OCTAVO_QUANTIZE_OBSERVED_NETWORK_H_

#include <functional>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "run/model.h"

namespace octavo {

// Immutable once compiled; any number of observations run on it at the same time, each on its caller's thread alone.
class ObservedNetwork {
 public:
  // Compiles for this machine, by the kernels that a compiled fp32 model would use. `chosen` are activations or inputs of the graph.
  static Result<ObservedNetwork> compile(const Graph& graph, const std::vector<ValueId>& chosen);

 private:
  friend class Observation;
  std::shared_ptr<const Model> model_;
  std::vector<std::ptrdiff_t> source_;  // by chosen value: output k, or input i as -1 - i
};

// The memory of one run at a time.
class Observation {
 public:
  static Result<Observation> create(const ObservedNetwork& network);
  // Computes the network on one sample (tensors in the order of the graph's inputs) and shows the chosen values in their order.
  using Visit = std::function<void(std::size_t chosen, const ConstTensorView& value)>;
  Status run(const std::vector<Tensor>& inputs, const Visit& visit);

 private:
  explicit Observation(Context context) : context_(std::move(context)) {}
  Context context_;
  std::vector<std::ptrdiff_t> source_;
  std::vector<Tensor> outputs_;
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_OBSERVED_NETWORK_H_
