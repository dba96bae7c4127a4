// What fuzz targets do with a graph that an importer made: quantize it, lower it, plan it.
#ifndef OCTAVO_FUZZ_PLANNING_H_
#define OCTAVO_FUZZ_PLANNING_H_

#include "import/import.h"
#include "lower/lower.h"
#include "planner/planner.h"
#include "quantize/quantize.h"

namespace octavo::fuzz {

// Lowering evaluates constants; a graph with large tensors is legal but would only slow the fuzzer down.
inline bool is_small(const Graph& graph) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 16;
  std::int64_t total = 0;
  for (int i = 0; i < graph.value_count(); ++i) {
    total += graph.fact({i}).shape.elements();
    if (total >= kLargest) return false;
  }
  return true;
}

// Scales come from `global_scale`, so nothing is asked for.
class NoSamples final : public SampleSource {
 public:
  std::int64_t size() const override { return 0; }
  Result<std::vector<Tensor>> sample(std::int64_t) const override { return std::vector<Tensor>{}; }
};

inline void lower_and_plan(Graph graph, Precision precision) {
  if (auto lowered = lower(graph, {.precision = precision}); !lowered) return;
  ConstantPool constants;
  auto plan = make_plan(graph, host_machine(), {.precision = precision, .allow_reference = true}, constants);
  static_cast<void>(plan.ok());
}

inline void quantize_and_plan(Result<ImportedModel> imported) {
  if (!imported || !is_small(imported->graph)) return;
  lower_and_plan(imported->graph, Precision::int8);
  if (imported->is_quantized) return lower_and_plan(imported->graph, Precision::fp32);
  const auto report = quantize(imported->graph, NoSamples{}, {.global_scale = 8.0f});
  if (report.ok() && is_small(imported->graph)) lower_and_plan(imported->graph, Precision::int8);
}

}  // namespace octavo::fuzz

#endif  // OCTAVO_FUZZ_PLANNING_H_
