// Integer convolutions. Part of lower/.
#include "lower/rules/fuse_convolution.h"

#include <optional>

#include "lower/fixed_result.h"
#include "lower/integer_weights.h"
#include "lower/planar_conv.h"
#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

std::variant<SourceWeights, std::string> source_weights(const Graph& graph, const Node& node) {
  auto w = quantized_constant(graph, node.inputs[1]);
  if (!w) return std::string("its weights are not quantized");
  SourceWeights source{std::move(*w), std::nullopt, std::nullopt};
  if (node.inputs.size() < 3 || !node.inputs[2].exists()) return source;
  const Fact& bias = graph.fact(node.inputs[2]);
  if (bias.is_constant() && bias.dtype == DType::f32) source.float_bias = *bias.constant;
  else source.integer_bias = quantized_constant(graph, node.inputs[2]);
  if (!source.float_bias && !source.integer_bias) return std::string("its bias is not constant");
  return source;
}

// An addition of a dequantized value of the same shape that alone reads the convolution's result before anything is
// rounded.
struct ConvResidue {
  ValueId sum;
  Dequantized other;
};
std::optional<ConvResidue> conv_residue_of(const Graph& graph, ValueId result) {
  const Node* add = only_reader(graph, result);
  if (add == nullptr || !is_binary(add->attrs, BinaryKind::add)) return std::nullopt;
  const auto other =
      dequantized(graph, add->inputs[0] == result ? add->inputs[1] : add->inputs[0], Stored::bytes_or_s16);
  if (!other || graph.fact(other->q).shape != graph.fact(result).shape) return std::nullopt;
  return ConvResidue{add->outputs[0], *other};
}

// (x_scale * w_scale) / y_scale in f32, in this order.
Tensor conv_multipliers(const IntegerWeights& weights, float x_scale, float y_scale) {
  Tensor tensor(DType::f32, Shape{static_cast<std::int64_t>(weights.scale.size())});
  for (std::size_t c = 0; c < weights.scale.size(); ++c) tensor.as<float>()[c] = (x_scale * weights.scale[c]) / y_scale;
  return tensor;
}

// The same as fixed-point numbers, of the product in f64; of weights that have one scale, a product in f32, as the
// source has it.
std::vector<FixedMultiplier> fixed_multipliers(const Graph& graph, ValueId weights_wire, const IntegerWeights& weights,
                                               float x_scale, float y_scale) {
  const bool is_per_axis = graph.producer(weights_wire)->attrs.as<DequantizeAttrs>().axis >= 0;
  std::vector<FixedMultiplier> factors;
  for (const float w_scale : weights.scale) {
    const double product = is_per_axis ? static_cast<double>(x_scale) * static_cast<double>(w_scale)
                                       : static_cast<double>(x_scale * w_scale);
    factors.push_back(FixedMultiplier::of(product / static_cast<double>(y_scale)));
  }
  return factors;
}

struct Fusion {
  QuantizedConvAttrs attrs;
  float y_scale = 1.0f;
  Profile profile = Profile::onnx;
  ValueId other;  // of an addition before rounding
  ValueId old_result;
  std::optional<QuantType> y;
  std::optional<Quantized> fixed;  // the convolution gives its sums, and this follows
};

// What the convolution can take in of what follows it; at least it gives its sums as f32.
Fusion what_follows(const Graph& graph, const Node& node, QuantizedConvAttrs attrs) {
  Fusion fusion{.attrs = std::move(attrs), .old_result = node.outputs[0]};
  const auto residue = conv_residue_of(graph, node.outputs[0]);
  const auto followed = follow_to_quantize(graph, residue ? residue->sum : node.outputs[0], Stored::bytes_or_s16);
  const auto* rounding = std::get_if<Quantized>(&followed);
  // Fixed point has no formula for an addition without a rounding of its own before it.
  const bool is_s16 = rounding != nullptr && rounding->type.dtype == DType::s16;
  const bool has_form = rounding != nullptr &&
                        (!rounds_away(rounding->profile) || (is_fixed_point(rounding->profile) && !residue && !is_s16));
  if (!has_form) {
    fusion.attrs.epilogue = {{Scale{}}, DType::f32};
    return fusion;
  }
  const Quantized& end = *rounding;
  if (is_fixed_point(end.profile)) {
    fusion.attrs.epilogue.to = DType::s32;
    fusion.old_result = end.y;
    fusion.fixed = end;
    return fusion;
  }
  fusion.profile = end.profile;
  fusion.attrs.epilogue = requantized(end.type.dtype, end.type.zero_point, end.lowest, end.highest);
  fusion.y_scale = end.type.scale;
  fusion.y = end.type;
  fusion.old_result = end.y;
  if (residue) {
    fusion.attrs.epilogue.stages.front() =
        ScaleAndAdd{residue->other.type.scale / end.type.scale, residue->other.type.zero_point};
    fusion.other = residue->other.q;
  }
  return fusion;
}

}  // namespace

Match fuse_convolution(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const auto& conv = node.attrs.as<ConvAttrs>();
  const auto planar = PlanarConv::of(graph, node);
  if (conv.layout != Layout::channels_last || (conv.window.rank() != 2 && !planar))
    return std::string("it has other than one or two spatial axes");
  const auto x = dequantized(graph, node.inputs[0]);
  if (!x) return std::string("its input is not quantized");
  const auto source = source_weights(graph, node);
  if (const auto* reason = std::get_if<std::string>(&source)) return *reason;
  QuantizedConvAttrs attrs{
      .window = planar ? planar->window() : conv.window, .groups = conv.groups, .x_zero_point = x->type.zero_point};
  Fusion fusion = what_follows(graph, node, std::move(attrs));
  auto made = integer_weights(std::get<SourceWeights>(source), x->type, fusion.profile);
  if (auto* reason = std::get_if<std::string>(&made)) return std::move(*reason);
  auto& weights = std::get<IntegerWeights>(made);

  Patch patch(graph);
  ValueId image = x->q;
  if (planar) {
    weights.w = planar->weights(weights.w);
    image = planar->image(patch, image, x->type.zero_point);
    if (fusion.other.exists()) fusion.other = planar->flat(patch, fusion.other);
  }
  std::vector<ValueId> inputs = conv_inputs(patch, node, image, weights);
  if (weights.bias_rest && !fusion.fixed) {
    fusion.attrs.epilogue.stages.insert(fusion.attrs.epilogue.stages.begin(), AddRest{});
    inputs.push_back(patch.constant(node.name + "/bias_rest", *weights.bias_rest));
  }
  if (!fusion.fixed)
    inputs.push_back(
        patch.constant(node.name + "/multiplier", conv_multipliers(weights, x->type.scale, fusion.y_scale)));
  if (fusion.other.exists()) inputs.push_back(fusion.other);
  ValueId y = patch.add(kQuantizedConv, std::move(fusion.attrs), std::move(inputs), node.name, node.origin);
  if (fusion.fixed) {
    const auto factors = fixed_multipliers(graph, node.inputs[1], weights, x->type.scale, fusion.fixed->type.scale);
    y = fixed_result(patch, node, y, *fusion.fixed, factors);
  }
  if (planar) y = planar->back(patch, y);
  if (fusion.y) patch.set_quant(y, fusion.y->params());
  patch.replace(fusion.old_result, y);
  return patch;
}

}  // namespace octavo
