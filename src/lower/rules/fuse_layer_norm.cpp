// Normalisation of quantized values. Part of lower/.
#include "lower/rules/fuse_layer_norm.h"

#include <cmath>
#include <optional>

#include "lower/quantized_value.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"

namespace octavo {
namespace {

struct Normalisation {
  const Node* node = nullptr;
  Dequantized x;
  std::vector<float> scale, bias;  // per channel
};

// The normalisation, or why it has no integer form.
std::variant<Normalisation, std::string> normalisation(const Graph& graph, const Node& node) {
  const auto x = dequantized(graph, node.inputs[0], Stored::bytes_or_s16);
  if (!x) return std::string("its input is not quantized");
  const OpenShape& shape = graph.fact(node.inputs[0]).shape;
  if (node.attrs.as<LayerNormAttrs>().axis != shape.rank() - 1)
    return std::string("it is over more than the last axis");
  const Dim channels = shape[shape.rank() - 1];
  if (!channels.is_number() || channels.fixed() > kLongestNormLine)
    return std::string("its lines have more than " + std::to_string(kLongestNormLine) + " elements");
  const auto per_channel = [&](std::size_t input) {
    return per_channel_constant(graph.fact(node.inputs[input]), 1, 0, channels);
  };
  auto scale = per_channel(1);
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].exists();
  auto bias = has_bias ? per_channel(2) : std::vector<float>(static_cast<std::size_t>(std::int64_t{channels}), 0.0f);
  if (!scale || !bias) return std::string("its scale or bias is not constant");
  return Normalisation{&node, *x, std::move(*scale), std::move(*bias)};
}

// Values in units of y_scale.
Tensor norm_in_units(const std::vector<float>& values, float y_scale) {
  Tensor tensor(DType::f32, Shape{static_cast<std::int64_t>(values.size())});
  for (std::size_t c = 0; c < values.size(); ++c)
    tensor.as<float>()[c] = static_cast<float>(static_cast<double>(values[c]) / static_cast<double>(y_scale));
  return tensor;
}

ValueId add_norm(Patch& patch, const Normalisation& norm, float y_scale, Epilogue epilogue) {
  const double x_scale = norm.x.type.scale;
  const double epsilon = norm.node->attrs.as<LayerNormAttrs>().epsilon / (x_scale * x_scale);
  const std::string& name = norm.node->name;
  return patch.add(kQuantizedLayerNorm,
                   QuantizedLayerNormAttrs{.x_zero_point = norm.x.type.zero_point,
                                           .epsilon = static_cast<float>(epsilon),
                                           .epilogue = std::move(epilogue)},
                   {norm.x.q, patch.constant(name + "/factor", norm_in_units(norm.scale, y_scale)),
                    patch.constant(name + "/shift", norm_in_units(norm.bias, y_scale))},
                   name, norm.node->origin);
}

}  // namespace

Match fuse_layer_norm(const Graph& graph, const Node& node) {
  const auto end = quantized_by(graph, node, Stored::bytes_or_s16);
  const Node* producer = end ? graph.producer_if(end->x, kLayerNorm) : nullptr;
  if (producer == nullptr) return std::string();
  if (rounds_away(end->profile)) return std::string("there is no integer form of it for this rounding");
  auto found = normalisation(graph, *producer);
  if (auto* reason = std::get_if<std::string>(&found)) return std::move(*reason);
  Patch patch(graph);
  const ValueId y = add_norm(patch, std::get<Normalisation>(found), end->type.scale,
                             {{ScaleAndShift{}, end->rounding()}, end->type.dtype});
  patch.set_quant(y, end->type.params());
  patch.replace(end->y, y);
  return patch;
}

Match layer_norm_to_f32(const Graph& graph, const Node& node) {
  if (node.spec != &kLayerNorm) return std::string();
  auto found = normalisation(graph, node);
  if (auto* reason = std::get_if<std::string>(&found)) return std::move(*reason);
  Patch patch(graph);
  patch.replace(node.outputs[0],
                add_norm(patch, std::get<Normalisation>(found), 1.0f, {{ScaleAndShift{}}, DType::f32}));
  return patch;
}

}  // namespace octavo
