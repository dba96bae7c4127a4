// Fuzz target: bytes as an ONNX file, through import, lowering and planning. Must never crash, hang or take unbounded memory.
#include <cstddef>
#include <cstdint>

#include "import/import.h"
#include "lower/lower.h"
#include "plan/plan.h"

namespace octavo {
namespace {

// Lowering evaluates constants; a graph with large tensors is legal but would only slow the fuzzer down.
bool is_small(const Graph& graph) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 18;
  std::int64_t total = 0;
  for (int i = 0; i < graph.value_count(); ++i) total += graph.fact({i}).shape.elements();
  return total < kLargest;
}

void import_lower_plan(std::span<const std::byte> bytes) {
  auto imported = import_onnx(bytes, "", "fuzz.onnx", {});
  if (!imported || !is_small(imported->graph)) return;
  for (Precision precision : {Precision::int8, Precision::fp32}) {
    Graph graph = imported->graph;
    if (auto lowered = lower(graph, {.precision = precision}); !lowered) continue;
    ConstantPool constants;
    auto plan = make_plan(graph, host_machine(), {.precision = precision, .allow_reference = true}, constants);
    static_cast<void>(plan.ok());
  }
}

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::import_lower_plan(std::as_bytes(std::span(data, size)));
  return 0;
}
