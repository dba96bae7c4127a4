// Softmax of quantized values. Part of lower/.
#include "lower/rules/fuse_softmax.h"

#include <optional>

#include "base/fixed_point.h"
#include "base/interpolated.h"
#include "lower/last_axis.h"
#include "lower/quantized_value.h"
#include "lower/s16_tables.h"
#include "ops/binary/binary.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/softmax/softmax.h"

namespace octavo {
namespace {

// Entry i is for an element 255 - i below the largest of its line.
Tensor fixed_exponentials(Profile profile, float scale, float beta) {
  Tensor table(DType::s32, Shape{256});
  for (int i = 0; i < 256; ++i) table.as<std::int32_t>()[i] = fixed_softmax_exponential(profile, i, scale, beta);
  return table;
}

Tensor s16_exponentials(float scale, float beta) {
  const std::vector<std::int16_t> values = interpolated_exponentials(scale, beta);
  return Tensor::of<std::int16_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// What softmax reads: quantized values, TFLite's times a positive factor.
struct SoftmaxScaled {
  Dequantized x;
  float beta = 1.0f;
};
std::optional<SoftmaxScaled> softmax_scaled(const Graph& graph, ValueId wire) {
  if (const auto x = dequantized(graph, wire, Stored::bytes_or_s16)) return SoftmaxScaled{*x};
  const Node* product = graph.producer_if(wire, kBinary);
  if (product == nullptr || product->attrs.as<BinaryAttrs>().kind != BinaryKind::mul) return std::nullopt;
  const auto x = dequantized(graph, product->inputs[0], Stored::bytes_or_s16);
  const auto beta = scalar_constant(graph, product->inputs[1]);
  if (!x || !beta || !(*beta > 0.0f)) return std::nullopt;
  return SoftmaxScaled{*x, *beta};
}

// Sums of longer lines may leave 32 bits in fixed point.
constexpr std::int64_t kLongestFixedLine = 4095;

}  // namespace

Match fuse_softmax(const Graph& graph, const Node& node) {
  if (node.spec != &kSoftmax) return std::string();
  const auto& softmax = node.attrs.as<SoftmaxAttrs>();
  if (softmax.kind != SoftmaxKind::softmax) return std::string("there is no integer form of log_softmax");
  const auto input = softmax_scaled(graph, node.inputs[0]);
  if (!input) return std::string("its input is not quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0], Stored::bytes_or_s16);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  const bool is_s16 = input->x.type.dtype == DType::s16;
  if (is_s16 != (end.type.dtype == DType::s16)) return std::string("only one of its operand and its result is s16");
  if (is_s16 && (!is_fixed_point(end.profile) || input->x.type.zero_point != 0 || end.type.zero_point != 0))
    return std::string("s16 values have no form of this rounding");
  if (std::string refusal = is_s16 ? s16_table_refusal(graph) : std::string(); !refusal.empty()) return refusal;
  const bool is_last = softmax.axis == graph.fact(node.inputs[0]).shape.rank() - 1;
  if (!is_last && !is_of_tflite(end.profile)) return std::string("it is not along the last axis");
  const IntegerRange range = range_of(end.type.dtype);
  const Dim& length = graph.fact(node.inputs[0]).shape[static_cast<int>(softmax.axis)];
  if (end.profile == Profile::onnx && input->beta != 1.0f) return std::string("its input is not quantized");
  if (is_fixed_point(end.profile) && !is_s16 && length > kLongestFixedLine)
    return std::string("its lines have more than 4095 elements");
  if (end.profile == Profile::pt2e || end.lowest != range.lowest || end.highest != range.highest)
    return std::string("its result is rounded or clamped in a way that has no integer form");
  Patch patch(graph);
  const float scale = input->x.type.scale;
  QuantizedSoftmaxAttrs attrs{end.type.dtype, end.profile, end.type.scale, end.type.zero_point};
  ValueId table;
  if (attrs.makes_exponentials()) {
    attrs.x_scale = scale * input->beta;
  } else {
    table = patch.constant(node.name + "/exponentials", is_s16 ? s16_exponentials(scale, input->beta)
                                                               : fixed_exponentials(end.profile, scale, input->beta));
  }
  const ValueId y = with_axis_last(patch, node, input->x.q, softmax.axis, [&](ValueId lines) {
    return patch.add(kQuantizedSoftmax, attrs, {lines, table}, node.name, node.origin);
  });
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
