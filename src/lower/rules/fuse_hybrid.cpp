// Integer convolutions and products of values that were quantized in the run. Part of lower/.
#include "lower/rules/fuse_hybrid.h"

#include "lower/integer_weights.h"
#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/conv/conv.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

enum Input : std::size_t { kX = 0, kW = 1, kXZero = 2, kWZero = 3 };

// The only reader, where it is a binary operator of this kind; `other` is its other operand.
const Node* only_binary_reader(const Graph& graph, ValueId wire, BinaryKind kind, ValueId& other) {
  const Node* reader = only_reader(graph, wire);
  if (reader == nullptr || !is_binary(reader->attrs, kind)) return nullptr;
  if (reader->inputs[0] == wire && reader->inputs[1] == wire) return nullptr;
  other = reader->inputs[reader->inputs[0] == wire ? 1 : 0];
  return reader;
}

// x_scale * a constant.
struct Factor {
  ValueId x_scale, constant;
};
std::optional<Factor> factor_of(const Graph& graph, ValueId wire) {
  const Node* product = graph.producer_if(wire, kBinary);
  if (product == nullptr || product->attrs.as<BinaryAttrs>().kind != BinaryKind::mul) return std::nullopt;
  const int scale = graph.fact(product->inputs[0]).is_constant() ? 1 : 0;
  const Factor factor{product->inputs[static_cast<std::size_t>(scale)],
                      product->inputs[static_cast<std::size_t>(1 - scale)]};
  const bool is_one_scale =
      !graph.fact(factor.x_scale).is_constant() && is_one(graph.fact(factor.x_scale).shape.elements());
  if (!is_one_scale || !graph.fact(factor.constant).is_constant()) return std::nullopt;
  return factor;
}

// What gives these elements in another shape, or with axes of one element elsewhere.
ValueId fuse_hybrid_without_moves(const Graph& graph, ValueId wire) {
  while (const Node* node = graph.producer(wire)) {
    if (node->spec != &kReshape && node->spec != &kTranspose) break;
    wire = node->inputs[0];
  }
  return wire;
}

// floor(constant / (x_scale * constant scales)) as s32, one for each channel.
struct IntegerBias {
  std::vector<float> bias, w_scale;
  ValueId x_scale;
};
std::optional<IntegerBias> integer_bias(const Graph& graph, ValueId wire, int rank, std::int64_t channels) {
  const OpenShape& shape = graph.fact(wire).shape;
  const bool is_per_channel =
      shape.rank() > 0 && is_same(shape.elements(), channels) && is_same(shape[shape.rank() - 1], channels);
  const Node* cast = is_per_channel ? graph.producer_if(fuse_hybrid_without_moves(graph, wire), kCast) : nullptr;
  if (cast == nullptr || graph.fact(cast->outputs[0]).dtype != DType::s32) return std::nullopt;
  const Node* floor = graph.producer_if(cast->inputs[0], kUnary);
  if (floor == nullptr || floor->attrs.as<UnaryAttrs>().kind != UnaryKind::floor) return std::nullopt;
  const Node* quotient = graph.producer_if(floor->inputs[0], kBinary);
  if (quotient == nullptr || !is_binary(quotient->attrs, BinaryKind::div)) return std::nullopt;
  const auto factor = factor_of(graph, quotient->inputs[1]);
  const Fact& bias = graph.fact(quotient->inputs[0]);
  if (!factor || !bias.is_constant() || bias.dtype != DType::f32 || !is_same(bias.shape.elements(), channels))
    return std::nullopt;
  const auto w_scale = per_channel_constant(graph.fact(factor->constant), rank, rank - 1, channels);
  if (!w_scale) return std::nullopt;
  return IntegerBias{to_floats(bias.constant->view()), *w_scale, factor->x_scale};
}

// What follows the integer sums.
struct Tail {
  ValueId x_scale, result;
  std::vector<float> w_scale, bias;
  HybridConvAttrs attrs{.epilogue = {{ScaleInRun{RunForm::onnx}}, DType::f32}};

  void take_clamp(const Graph& graph) {
    const Node* reader = only_reader(graph, result);
    const auto bounds = reader == nullptr ? std::nullopt : clamp_bounds(*reader);
    if (!bounds || bounds->lowest > bounds->highest) return;
    attrs.epilogue.stages.emplace_back(ClampReal{bounds->lowest, bounds->highest});
    result = reader->outputs[0];
  }
};
std::variant<Tail, std::string> tail_of(const Graph& graph, ValueId sum, std::int64_t channels) {
  const int rank = graph.fact(sum).shape.rank();
  ValueId other;
  const Node* first = only_binary_reader(graph, sum, BinaryKind::add, other);
  const auto before = first == nullptr ? std::nullopt : integer_bias(graph, other, rank, channels);
  if (first != nullptr && !before) return std::string("what is added to its sums is no bias of the scales in the run");
  const Node* cast = only_reader(graph, before ? first->outputs[0] : sum);
  if (cast == nullptr || cast->spec != &kCast || graph.fact(cast->outputs[0]).dtype != DType::f32)
    return std::string("its sums do not become f32");
  ValueId factors;
  const Node* product = only_binary_reader(graph, cast->outputs[0], BinaryKind::mul, factors);
  const auto factor = product == nullptr ? std::nullopt : factor_of(graph, factors);
  const auto w_scale =
      !factor ? std::nullopt : per_channel_constant(graph.fact(factor->constant), rank, rank - 1, channels);
  if (!w_scale || !is_same(graph.fact(product->outputs[0]).shape, graph.fact(sum).shape)) {
    return std::string("its sums are not multiplied by the scale of x times constant scales");
  }
  // Adding -0 changes nothing.
  Tail tail{factor->x_scale, product->outputs[0], *w_scale,
            std::vector<float>(static_cast<std::size_t>(channels), -0.0f)};
  if (before) {
    if (before->x_scale != tail.x_scale || before->w_scale != tail.w_scale)
      return std::string("the bias before its scales has others");
    tail.bias = before->bias;
    tail.attrs.epilogue.stages = {ScaleInRun{RunForm::onnx_integer}};
  } else if (const Node* add = only_binary_reader(graph, tail.result, BinaryKind::add, other)) {
    const auto bias = per_channel_constant(graph.fact(other), rank, rank - 1, channels);
    if (bias && is_same(graph.fact(add->outputs[0]).shape, graph.fact(sum).shape))
      tail.bias = *bias, tail.result = add->outputs[0];
  }
  tail.take_clamp(graph);
  return tail;
}

// Weights [OC, KH, KW, C / groups] of the node with their zero points, or a reason.
std::variant<IntegerWeights, std::string> weights_of(const Graph& graph, const Node& node) {
  const Fact& w = graph.fact(node.inputs[kW]);
  if (!w.is_constant()) return std::string("its weights are not constant");
  QuantizedConstant given{.q = w.constant, .scale = {1.0f}, .zero_point = {0}};
  if (node.spec == &kMatmulInteger) {
    if (w.shape.rank() != 2) return std::string("its weights are more than one matrix");
    given.q =
        std::make_shared<const Tensor>(transposed(*w.constant, {1, 0}).reshaped(Shape{w.shape[1], 1, 1, w.shape[0]}));
  }
  if (node.inputs.size() > kWZero && node.inputs[kWZero].exists()) {
    const Fact& zero = graph.fact(node.inputs[kWZero]);
    const std::int64_t zeros = zero.shape.elements();
    if (!zero.is_constant() || (zeros != 1 && zeros != given.q->shape()[0]))
      return std::string("the zero point of its weights is not constant");
    given.zero_point.clear();
    for (std::int64_t i = 0; i < zeros; ++i) {
      given.zero_point.push_back(static_cast<std::int32_t>(element_as_double(zero.constant->view(), i)));
    }
  }
  return integer_weights({std::move(given), std::nullopt, std::nullopt}, {.dtype = DType::u8}, Profile::onnx);
}

bool has_run_zero_point(const Graph& graph, const Node& node) {
  if (node.inputs.size() <= kXZero || !node.inputs[kXZero].exists()) return false;
  const Fact &x = graph.fact(node.inputs[kX]), &zero = graph.fact(node.inputs[kXZero]);
  return x.dtype == DType::u8 && !x.is_constant() && !zero.is_constant() && is_one(zero.shape.elements());
}

ValueId channels_constant(Patch& patch, const std::string& name, const std::vector<float>& values) {
  return patch.constant(name, Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

ValueId add_hybrid(Patch& patch, const Node& node, ValueId x, ValueId x_zero_point, const IntegerWeights& weights,
                   Tail tail) {
  std::vector<ValueId> inputs(kHybridBias + 1);
  inputs[kHybridX] = x;
  inputs[kHybridW] = patch.constant(node.name + "/weight", weights.w);
  inputs[kHybridXZero] = x_zero_point;
  if (weights.w_offset) inputs[kHybridOffset] = patch.constant(node.name + "/weight_offset", *weights.w_offset);
  inputs[kHybridXScale] = tail.x_scale;
  inputs[kHybridWScale] = channels_constant(patch, node.name + "/scales", tail.w_scale);
  inputs[kHybridBias] = channels_constant(patch, node.name + "/bias", tail.bias);
  return patch.add(kHybridConv, std::move(tail.attrs), std::move(inputs), node.name, node.origin);
}

}  // namespace

Match fuse_hybrid(const Graph& graph, const Node& node) {
  const bool is_product = node.spec == &kMatmulInteger;
  if (node.spec != &kConvInteger && !is_product) return std::string();
  if (!has_run_zero_point(graph, node))
    return std::string("the zero point of its x is not a single one known in the run");
  const auto made = weights_of(graph, node);
  if (const auto* reason = std::get_if<std::string>(&made)) return *reason;
  const auto& weights = std::get<IntegerWeights>(made);
  if (weights.w.shape().rank() != 4 || weights.w.elements() == 0)
    return std::string("it has other than two spatial axes");
  auto followed = tail_of(graph, node.outputs[0], weights.w.shape()[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  auto& tail = std::get<Tail>(followed);
  if (graph.fact(tail.x_scale).shape != graph.fact(node.inputs[kXZero]).shape)
    return std::string("scale and zero point of its x differ in shape");

  Patch patch(graph);
  ValueId x = node.inputs[kX];
  tail.attrs.window = unit_window({1, 1});
  if (is_product) {
    const std::int64_t inner = weights.w.shape()[3];
    x = patch.add(kReshape, ReshapeAttrs{{graph.fact(x).shape.elements() / inner, 1, 1, inner}}, {x},
                  node.name + "/rows", node.origin);
  } else {
    const auto& conv = node.attrs.as<ConvIntegerAttrs>();
    if (conv.layout != Layout::channels_last) return std::string("its channels are not last");
    tail.attrs.window = conv.window;
    tail.attrs.groups = conv.groups;
  }
  const ValueId old_result = tail.result;
  const ValueId y = add_hybrid(patch, node, x, node.inputs[kXZero], weights, std::move(tail));
  const OpenShape& result = graph.fact(old_result).shape;
  patch.replace(
      old_result,
      is_product ? patch.add(kReshape, ReshapeAttrs{result.to_vector()}, {y}, node.name + "/result", node.origin) : y);
  return patch;
}

Match fuse_hybrid_rows(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const auto x = dequantized_in_run(graph, node.inputs[0]);
  if (!x) return std::string();
  const auto& conv = node.attrs.as<ConvAttrs>();
  if (conv.layout != Layout::channels_last || conv.window.rank() != 2)
    return std::string("it has other than one or two spatial axes");
  HybridConvAttrs attrs{.window = conv.window, .groups = conv.groups};
  const OpenShape& image = graph.fact(node.inputs[0]).shape;
  const OpenShape& scales = graph.fact(x->scale).shape;
  if (!attrs.is_pointwise() && !is_one(scales.elements()))
    return std::string("rows of its input have scales of their own, and it sums several pixels");
  if (!is_one(scales.elements()) && !is_same(scales.elements(), image.elements() / image[3]))
    return std::string("its pixels are not the rows that have scales of their own");
  auto w = quantized_constant(graph, node.inputs[1]);
  if (!w) return std::string("its weights are not quantized");
  auto made = integer_weights({std::move(*w), std::nullopt, std::nullopt}, {.dtype = DType::u8}, Profile::onnx);
  if (const auto* reason = std::get_if<std::string>(&made)) return *reason;
  const auto& weights = std::get<IntegerWeights>(made);
  Tail tail{x->scale, node.outputs[0], weights.scale, std::vector<float>(weights.scale.size(), -0.0f)};
  tail.attrs.window = attrs.window;
  tail.attrs.groups = attrs.groups;
  if (node.inputs.size() > 2 && node.inputs[2].exists()) {
    const Fact& bias = graph.fact(node.inputs[2]);
    if (!bias.is_constant() || bias.dtype != DType::f32) return std::string("its bias is not constant");
    tail.bias = to_floats(bias.constant->view());
  }
  tail.take_clamp(graph);

  Patch patch(graph);
  const ValueId old_result = tail.result;
  const ValueId pixels =
      patch.add(kReshape, ReshapeAttrs{image.to_vector()}, {x->q}, node.name + "/pixels", node.origin);
  patch.replace(old_result, add_hybrid(patch, node, pixels, x->zero_point, weights, std::move(tail)));
  return patch;
}

}  // namespace octavo
