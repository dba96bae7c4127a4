// Attention of quantized values. Part of lower/.
#include "lower/rules/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/math.h"
#include "lower/quantized_value.h"
#include "ops/attention/attention.h"
#include "ops/quantized_attention/quantized_attention.h"
#include "ops/row_quantize/row_quantize.h"

namespace octavo {
namespace {

// Weights of the largest score and of one that is `kReach` less: 255 and a half.
constexpr double kReach = 6.234410725718371;  // log(510)
constexpr double kSteps = 255.0 / kReach;

// Entry i: of a score that is i steps below the largest; the last one is 0, being a half or less.
Tensor weights() {
  Tensor table(DType::u8, Shape{256});
  for (int i = 0; i < 255; ++i)
    table.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(std::nearbyint(255.0 * math_exp(-i / kSteps)));
  table.as<std::uint8_t>()[255] = 0;
  return table;
}

// What values with a scale end in, and the wire that has it.
struct End {
  Epilogue epilogue;
  ValueId y;
  std::optional<QuantParams> params;  // of bytes
};

bool is_made_into_rows(const Graph& graph, ValueId wire) {
  const auto readers = graph.readers(wire);
  return std::any_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return graph.node(reader).spec == &kRowQuantize; });
}

// Rows of bytes, whose scales are found in the run, are made of f32.
std::variant<End, std::string> end_of(const Graph& graph, ValueId result, float scale) {
  if (is_made_into_rows(graph, result)) return End{{{Affine{scale}}, DType::f32}, result, std::nullopt};
  const auto followed = follow_to_quantize(graph, result);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (rounds_away(end.profile)) return std::string("there is no integer form of it for this rounding");
  return End{{{Affine{scale / end.type.scale}, end.rounding()}, end.type.dtype}, end.y, end.type.params()};
}

}  // namespace

Match fuse_attention(const Graph& graph, const Node& node) {
  if (node.spec != &kAttention) return std::string();
  std::vector<Dequantized> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto operand = dequantized(graph, node.inputs[i]);
    if (!operand) return std::string("not all of its queries, keys and values are quantized");
    operands.push_back(*operand);
  }
  const auto found = end_of(graph, node.outputs[0], operands[2].type.scale);
  if (const auto* reason = std::get_if<std::string>(&found)) return *reason;
  const auto& end = std::get<End>(found);
  const auto& heads = node.attrs.as<AttentionAttrs>();
  QuantizedAttentionAttrs attrs{.heads = heads,
                                .q_zero_point = operands[0].type.zero_point,
                                .k_zero_point = operands[1].type.zero_point,
                                .v_zero_point = operands[2].type.zero_point,
                                .multiplier = operands[0].type.scale * operands[1].type.scale * heads.scale,
                                .steps = static_cast<float>(kSteps),
                                .epilogue = end.epilogue};
  attrs.heads.scale = 1.0f;
  Patch patch(graph);
  const bool has_mask = node.inputs.size() > kAttentionMask;
  const ValueId mask = has_mask ? node.inputs[kAttentionMask] : ValueId{};
  const ValueId y =
      patch.add(kQuantizedAttention, std::move(attrs),
                {operands[0].q, operands[1].q, operands[2].q, mask, patch.constant(node.name + "/weights", weights())},
                node.name, node.origin);
  if (end.params) patch.set_quant(y, *end.params);
  patch.replace(end.y, y);
  return patch;
}

Match fuse_attention_of_quantizer(const Graph& graph, const Node& node) {
  if (node.spec != &kAttention) return std::string();
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  const auto* end = std::get_if<Quantized>(&followed);
  if (end != nullptr && end->profile == Profile::pt2e)
    return std::string("the file computes it in floats; --precision int8 computes it in bytes");
  return fuse_attention(graph, node);
}

}  // namespace octavo
