// Finding inputs that are ids, and drawing them. Part of quantize/.
#include "quantize/drawn_ids.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ops/cast/cast.h"
#include "ops/gather/gather.h"

namespace octavo {
namespace {

// Rows of the smallest table that this input indexes, if any.
std::optional<std::int64_t> rows_indexed(const Graph& graph, ValueId input) {
  std::optional<std::int64_t> rows;
  std::vector<bool> follows(static_cast<std::size_t>(graph.value_count()));  // by ValueId: the input, moved or cast
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id.index); };
  follows[at(input)] = true;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto is_followed = [&](std::size_t i) {
      return i < node.inputs.size() && node.inputs[i].exists() && follows[at(node.inputs[i])];
    };
    const auto* gather = node.attrs.get_if<GatherAttrs>();
    const Fact& table = graph.fact(node.inputs.empty() ? input : node.inputs[0]);
    if (gather != nullptr && gather->axis == 0 && is_followed(1) && table.is_constant() && is_float(table.dtype)) {
      const std::int64_t own = table.constant->shape()[0];
      rows = rows ? std::min(*rows, own) : own;
    }
    const bool moves = node.spec == &kCast || elements_of(*node.spec, node.attrs) == Elements::moved;
    if (moves && is_followed(0)) follows[at(node.outputs[0])] = true;
  }
  return rows;
}

class DrawnIds final : public SampleSource {
 public:
  struct Input {
    Fact fact;
    std::int64_t rows = 0;  // 0: no index
  };
  explicit DrawnIds(std::vector<Input> inputs) : inputs_(std::move(inputs)) {}
  std::int64_t size() const override { return kDrawnSamples; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    SplitMix random(static_cast<std::uint64_t>(index + 1));
    std::vector<Tensor> sample;
    for (const Input& input : inputs_) {
      sample.emplace_back(input.fact.dtype, Shape(input.fact.shape));
      const TensorView view = sample.back().view();
      for (std::int64_t i = 0; i < view.shape.elements(); ++i) {
        const std::uint64_t drawn = random.next();
        const auto row =
            input.rows == 0 ? 1 : static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(input.rows));
        store_double(view, i, static_cast<double>(row));
      }
    }
    return sample;
  }

 private:
  std::vector<Input> inputs_;
};

}  // namespace

std::shared_ptr<const SampleSource> drawn_ids(const Graph& graph) {
  std::vector<DrawnIds::Input> inputs;
  bool has_ids = false;
  for (const ValueId id : graph.inputs()) {
    const Fact& fact = graph.fact(id);
    if (is_float(fact.dtype)) return nullptr;
    const auto rows = rows_indexed(graph, id);
    if (rows && *rows < 1) return nullptr;
    has_ids = has_ids || rows;
    inputs.push_back({fact, rows.value_or(0)});
  }
  return has_ids ? std::make_shared<const DrawnIds>(std::move(inputs)) : nullptr;
}

}  // namespace octavo
