// How many tables of s16 values a graph may have. Part of lower/.
#include "lower/s16_tables.h"

#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

constexpr int kMostS16Tables = 1024;

bool has_s16_table(const Graph& graph, const Node& node) {
  return (node.spec == &kTable || node.spec == &kQuantizedSoftmax) && graph.fact(node.inputs[0]).dtype == DType::s16;
}

}  // namespace

std::string s16_table_refusal(const Graph& graph) {
  int count = 0;
  for (const NodeId id : graph.order()) count += has_s16_table(graph, graph.node(id)) ? 1 : 0;
  return count < kMostS16Tables ? "" : "there are " + std::to_string(count) + " tables of s16 values already";
}

}  // namespace octavo
