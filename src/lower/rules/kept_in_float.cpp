// Quantized weights and pairs of kept nodes. Part of lower/.
#include "lower/rules/kept_in_float.h"

#include <algorithm>

#include "lower/quantized_value.h"
#include "lower/rules/clamp_for_pair.h"
#include "lower/rules/fold_constants.h"
#include "ops/dequantize/dequantize.h"

namespace octavo {
namespace {

// Weights may be transposed on their way.
bool is_read_by(const Graph& graph, ValueId wire, const std::set<std::string>& kept) {
  const auto& readers = graph.readers(wire);
  return !graph.is_output(wire) && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId id) {
    const Node& reader = graph.node(id);
    const bool moves = elements_of(*reader.spec, reader.attrs) == Elements::moved;
    return kept.contains(reader.name) || (moves && is_read_by(graph, reader.outputs[0], kept));
  });
}

}  // namespace

Match keep_in_float(const Graph& graph, const Node& node, const std::set<std::string>& kept) {
  if (!node.attrs.is<DequantizeAttrs>() || !is_read_by(graph, node.outputs[0], kept)) return std::string();
  if (graph.fact(node.inputs[0]).is_constant()) return fold_all_constants(graph, node);
  const Node* quantize = graph.producer(node.inputs[0]);
  const auto pair = quantize == nullptr ? std::nullopt : quantized_by(graph, *quantize);
  if (!pair) return std::string();
  const Node* maker = graph.producer(pair->x);
  if (maker != nullptr && !kept.contains(maker->name)) return std::string("what makes its input is not kept in f32");
  return clamp_for_pair(graph, node);
}

}  // namespace octavo
