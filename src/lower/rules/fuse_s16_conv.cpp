// Convolutions of s16 values with 8-bit weights. Part of lower/.
#include "lower/rules/fuse_s16_conv.h"

#include <algorithm>
#include <optional>

#include "base/fixed_point.h"
#include "lower/fixed_result.h"
#include "lower/integer_weights.h"
#include "lower/quantized_value.h"
#include "ops/conv/conv.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/s16_byte/s16_byte.h"

namespace octavo {
namespace {

// The bias as whole units of x_scale * w_scale; zeros where there is none.
std::optional<std::vector<std::int64_t>> whole_bias(const Graph& graph, const Node& node, std::int64_t channels) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(channels), 0);
  if (node.inputs.size() < 3 || !node.inputs[2].exists()) return values;
  const auto bias = quantized_constant(graph, node.inputs[2]);
  if (!bias || bias->q->elements() != channels) return std::nullopt;
  return to_int64s(bias->q->view());
}

// The part of a bias that the sums of one byte begin with: bias = 256 upper + lower.
std::int64_t part_of(std::int64_t bias, S16Byte which) { return which == S16Byte::upper ? bias >> 8 : bias & 0xff; }

// What a quantized_conv of one of the two bytes reads; a reason where its sums could leave 32 bits.
std::variant<IntegerWeights, std::string> byte_weights(S16Byte which, const QuantizedConstant& w,
                                                       const std::vector<std::int64_t>& bias, float x_scale,
                                                       Profile profile) {
  const Shape shape{static_cast<std::int64_t>(bias.size())};
  QuantizedConstant begins{.scale = {}, .zero_point = {0}, .axis = 0};
  Tensor values(DType::s32, shape);
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const std::int64_t part = part_of(bias[c], which);
    if (part != static_cast<std::int32_t>(part))
      return "the bias of output channel " + std::to_string(c) + " is too large";
    values.as<std::int32_t>()[c] = static_cast<std::int32_t>(part);
    begins.scale.push_back(x_scale * w.scale[w.scale.size() == 1 ? 0 : c]);
  }
  begins.q = std::make_shared<const Tensor>(std::move(values));
  const QuantType byte{DType::u8, x_scale, zero_of(which)};
  return integer_weights({w, std::move(begins), std::nullopt}, byte, profile);
}

// x_scale * w_scale / y_scale of every channel. The source multiplies in f64; in f32 where there is one scale and the
// factor is an integer.
std::vector<double> real_factors(const Graph& graph, const Node& node, const QuantizedConstant& w, float x_scale,
                                 const Quantized& end) {
  const bool is_per_axis = graph.producer(node.inputs[1])->attrs.as<DequantizeAttrs>().axis >= 0;
  std::vector<double> factors;
  for (const float w_scale : w.scale) {
    const double product = is_per_axis || end.profile == Profile::tflite_real
                               ? static_cast<double>(x_scale) * static_cast<double>(w_scale)
                               : static_cast<double>(x_scale * w_scale);
    factors.push_back(product / static_cast<double>(end.type.scale));
  }
  return factors;
}

// What becomes of the joined sums, and its operands.
struct JoinedEnd {
  Stage scale;
  std::vector<ValueId> operands;
};
JoinedEnd joined_end(Patch& patch, const Node& node, const std::vector<double>& factors, Profile profile) {
  if (profile == Profile::tflite_real) {
    Tensor tensor(DType::f64, Shape{static_cast<std::int64_t>(factors.size())});
    std::copy(factors.begin(), factors.end(), tensor.as<double>());
    return {DoubleScale{}, {patch.constant(node.name + "/multipliers", std::move(tensor))}};
  }
  std::vector<FixedMultiplier> fixed;
  for (const double factor : factors) fixed.push_back(FixedMultiplier::of(factor));
  if (profile != Profile::tflite_wide) return {FixedScale{profile}, fixed_factors(patch, node, fixed)};
  // The operands of a wide scale have the same places.
  for (FixedMultiplier& factor : fixed) {
    const WideMultiplier wide = WideMultiplier::of(factor);
    factor = {wide.multiplier, wide.shift};
  }
  return {WideScale{}, fixed_factors(patch, node, fixed)};
}

}  // namespace

Match fuse_s16_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const auto x = dequantized(graph, node.inputs[0], Stored::bytes_or_s16);
  if (!x || x->type.dtype != DType::s16) return std::string();
  const auto& conv = node.attrs.as<ConvAttrs>();
  if (conv.layout != Layout::channels_last || conv.window.rank() != 2)
    return std::string("it has other than one or two spatial axes");
  if (x->type.zero_point != 0) return std::string("its s16 input has a zero point");
  const auto w = quantized_constant(graph, node.inputs[1]);
  if (!w) return std::string("its weights are not quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0], Stored::bytes_or_s16);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  const bool has_form =
      is_fixed_point(end.profile) || end.profile == Profile::tflite_wide || end.profile == Profile::tflite_real;
  if (!has_form || end.type.dtype != DType::s16) return std::string("sums of s16 values have no form of this rounding");
  const auto bias = whole_bias(graph, node, w->q->shape()[0]);
  if (!bias) return std::string("its bias is no constant of integers");
  auto upper = byte_weights(S16Byte::upper, *w, *bias, x->type.scale, end.profile),
       lower = byte_weights(S16Byte::lower, *w, *bias, x->type.scale, end.profile);
  for (const auto* made : {&upper, &lower}) {
    if (const auto* reason = std::get_if<std::string>(made)) return *reason;
  }

  Patch patch(graph);
  const auto sums = [&](S16Byte which, const IntegerWeights& weights) {
    Node named = node;
    named.name += "/" + std::string(name_of(which));
    const ValueId image = patch.add(kS16Byte, S16ByteAttrs{which}, {x->q}, named.name + "_bytes", node.origin);
    const QuantizedConvAttrs attrs{
        .window = conv.window, .groups = conv.groups, .x_zero_point = zero_of(which), .epilogue = {.to = DType::s32}};
    return patch.add(kQuantizedConv, attrs, conv_inputs(patch, named, image, weights), named.name, node.origin);
  };
  const ValueId upper_sums = sums(S16Byte::upper, std::get<IntegerWeights>(upper)),
                lower_sums = sums(S16Byte::lower, std::get<IntegerWeights>(lower));
  auto [scale, operands] = joined_end(patch, node, real_factors(graph, node, *w, x->type.scale, end), end.profile);
  operands.insert(operands.begin(), {upper_sums, lower_sums});
  const Epilogue epilogue{{JoinBytes{}, scale, end.rounding()}, DType::s16};
  const ValueId y = patch.add(kQuantizedElementwise, QuantizedElementwiseAttrs{epilogue}, std::move(operands),
                              node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
