// What fuzz targets do with a graph that an importer made: quantize it, lower it, plan it.
#ifndef OCTAVO_FUZZ_PLANNING_H_
#define OCTAVO_FUZZ_PLANNING_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

#include "import/import.h"
#include "lower/lower.h"
#include "planner/open_planner.h"
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

// Half of all inputs, always the same ones, keep their sizes open.
inline ImportOptions import_options_for(std::span<const std::byte> bytes) {
  const bool keeps_open = XXH3_64bits(bytes.data(), bytes.size()) % 2 == 0;
  return {.keeps_open = keeps_open, .opens_batch = keeps_open};
}

// Every size as small as its range and step let it be, and so many steps more.
inline std::vector<std::int64_t> small_sizes(const Sizes& sizes, std::int64_t steps) {
  std::vector<std::int64_t> values;
  for (const OpenSize& size : sizes.sizes())
    values.push_back((size.range.lowest + size.step - 1) / size.step * size.step + steps * size.step);
  return values;
}

inline void lower_and_plan(Graph graph, Precision precision) {
  if (auto lowered = lower(graph, {.precision = precision}); !lowered) return;
  ConstantPool constants;
  auto plan = make_plan(graph, host_machine(), {.precision = precision, .allow_reference = true}, constants);
  static_cast<void>(plan.ok());
}

// Lowered once, planned for two sizes, from the graph and from what a file holds of it.
inline void plan_open(const ImportedModel& imported) {
  Graph graph = imported.graph;
  const Precision precision = imported.is_quantized ? Precision::int8 : Precision::fp32;
  const auto lowered = lower(graph, {.precision = precision});
  if (!lowered) return;
  ConstantPool constants;
  const StoredGraph network = stored_graph(graph, constants);
  const FileConstants stored(constants.bytes());
  for (const std::int64_t steps : {0, 3}) {
    const auto values = graph.sizes()->evaluate(small_sizes(*graph.sizes(), steps));
    if (!values) continue;
    static_cast<void>(graph_at(network, stored, *values).ok());
    Graph closed = graph;
    if (!closed.close(*values) || !is_small(closed)) continue;
    if (lowered->waits_for_sizes && !lower_closed(closed, {.precision = precision})) continue;
    ConstantPool packed;
    static_cast<void>(
        make_plan(closed, host_machine(), {.precision = precision, .allow_reference = true}, packed).ok());
  }
}

// Each network for itself. What the importer makes is sound.
inline void plan_program(const ImportedModel& imported) {
  const Precision precision = imported.is_quantized ? Precision::int8 : Precision::fp32;
  std::vector<NetworkPorts> ports;
  for (const Graph& graph : imported.program->networks)
    ports.push_back({graph.inputs().size(), graph.outputs().size()});
  if (!check_program(imported.program->program, ports)) std::abort();
  for (const Graph& graph : imported.program->networks) {
    if (!is_small(graph)) continue;
    if (graph.sizes() == nullptr) lower_and_plan(graph, precision);
    else plan_open({.graph = graph, .is_quantized = imported.is_quantized});
  }
}

inline void quantize_and_plan(Result<ImportedModel> imported) {
  if (imported && imported->program) return plan_program(*imported);
  if (!imported || !is_small(imported->graph)) return;
  if (imported->graph.sizes() != nullptr) return plan_open(*imported);
  lower_and_plan(imported->graph, Precision::int8);
  if (imported->is_quantized) return lower_and_plan(imported->graph, Precision::fp32);
  const auto report = quantize(imported->graph, NoSamples{}, {.global_scale = 8.0f});
  if (report.ok() && is_small(imported->graph)) lower_and_plan(imported->graph, Precision::int8);
}

}  // namespace octavo::fuzz

#endif  // OCTAVO_FUZZ_PLANNING_H_
