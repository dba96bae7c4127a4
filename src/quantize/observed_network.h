// An fp32 graph compiled so that chosen values inside it can be seen and changed. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_OBSERVED_NETWORK_H_
#define OCTAVO_QUANTIZE_OBSERVED_NETWORK_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/machine.h"
#include "graph/graph.h"
#include "quantize/live_memory.h"
#include "run/model.h"

namespace octavo {

// An activation or input of a graph.
struct ObservedValue {
  ValueId id;
  int channel_axis = -1;  // where somebody wants to know where it went; -1: nobody
};

// A chosen value that a step gives. In the order in which they are shown.
struct Sighting {
  std::size_t step = 0;
  std::size_t place = 0;  // among those of the step
  std::size_t chosen = 0;
};

// Immutable once compiled; any number of observations run on it at the same time, each on its caller's thread alone.
class ObservedNetwork {
 public:
  // Compiles by kernels that give the same bits on every machine, those of `machine`, which this one has to be able to
  // run. Values are seen where they are computed, in the kernels' own order of elements: nothing is copied or
  // transposed for it.
  static Result<ObservedNetwork> compile(Graph graph, const std::vector<ObservedValue>& chosen,
                                         const Machine& machine = host_machine());
  // Where the channels of a chosen value lie in what is shown of it; -1 where nobody asked or a reshape hides them.
  int channel_axis(std::size_t chosen) const { return channel_axis_[chosen]; }
  // Of what steps give; inputs and constants are shown, too, but before.
  std::vector<Sighting> sightings() const;
  const Plan& plan() const { return model_->plans().front(); }

 private:
  friend class Observation;
  struct Sight {
    std::size_t output = 0;  // of its step
    std::size_t chosen = 0;
  };
  struct InputSight {
    std::size_t input = 0;
    std::size_t chosen = 0;
  };
  struct ConstantSight {
    std::shared_ptr<const Tensor> value;
    std::size_t chosen = 0;
  };
  void find_steps(const std::vector<std::vector<std::size_t>>& chosen_by_value);

  std::shared_ptr<const Model> model_;
  std::vector<int> channel_axis_;
  std::vector<std::vector<Sight>> by_step_;
  std::vector<InputSight> inputs_;
  std::vector<ConstantSight> constants_;
};

// The memory of one run at a time.
class Observation {
 public:
  static Result<Observation> create(const ObservedNetwork& network);
  // Computes the network on one sample (tensors in the order of the graph's inputs) and shows the chosen values as they
  // come to be: inputs first, then in the order of computation. What `visit` writes into a value is what its readers
  // read; only then are `inputs` written to.
  using Visit = std::function<void(std::size_t chosen, const TensorView& value)>;
  Status run(std::vector<Tensor>& inputs, const Visit& visit);

  // The same in pieces. start() shows inputs and constants; advance() goes on behind `from`, or from the first step, up
  // to `to` and shows it, or to the end. Between the two, others may use this memory if what live_memory() tells of
  // `to` is put back into arena(); outputs() are of the last.
  void start(std::vector<Tensor>& inputs, const Visit& visit);
  Status advance(const std::vector<Tensor>& inputs, const std::optional<Sighting>& from,
                 const std::optional<Sighting>& to, const Visit& visit);
  TensorView value(const Sighting& sighting);
  std::byte* arena() { return context_.arena(); }
  // Of the last run, in the order of the graph's outputs.
  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  Observation(const ObservedNetwork& network, Context context) : network_(&network), context_(std::move(context)) {}
  TensorView output_of(std::size_t step, std::size_t output);
  void show(std::size_t step, std::size_t first, std::size_t last, const Visit& visit);

  const ObservedNetwork* network_;
  Context context_;
  std::vector<Tensor> outputs_;
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_OBSERVED_NETWORK_H_
