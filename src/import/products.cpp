// Verbs that compute: reductions, products, normalisations. Part of import/.
#include <algorithm>
#include <numeric>

#include "import/verbs.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/matmul/matmul.h"

namespace octavo::importing {

ValueId reduce(NodeBuilder& in, const ReduceArgs& args, std::string_view suffix) {
  if (in.failed()) return {};
  Integers axes;
  for (const std::int64_t one : args.axes) axes.push_back(in.axis({one, args.axes.place}, in.rank(args.x)));
  if (args.axes.empty() && args.empty_is_all) {
    axes.resize(static_cast<std::size_t>(in.rank(args.x)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::sort(axes.begin(), axes.end());
  if (args.may_repeat) axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  in.axes({axes, args.axes.place}, in.rank(args.x));
  return in.add(kReduce, ReduceAttrs{.kind = args.kind, .axes = axes, .keep_dims = args.keeps_dims}, {args.x}, suffix);
}

ValueId argmax(NodeBuilder& in, ValueId x, const Number& axis, ArgmaxAttrs attrs, std::string_view suffix) {
  attrs.axis = in.axis(axis, in.rank(x));
  return in.add(kArgmax, attrs, {x}, suffix);
}

ValueId matmul(NodeBuilder& in, ValueId a, ValueId b, ValueId bias, std::string_view suffix) {
  if (!bias.exists()) return in.add(kMatmul, NoAttrs{}, {a, b}, suffix);
  return in.binary(BinaryKind::add, in.add(kMatmul, NoAttrs{}, {a, b}, "matmul"), bias, suffix);
}

ValueId scaled(NodeBuilder& in, ValueId x, double factor, std::string_view suffix) {
  if (factor == 1.0 || !x.exists()) return x;
  return in.binary(BinaryKind::mul, x, in.scalar_like(x, factor, std::string(suffix) + ".factor"), suffix);
}

namespace {

// A parameter of this shape: broadcast where it has another, and made of `fallback` where it is left out.
ValueId filled(NodeBuilder& in, ValueId given, const Shape& shape, float fallback, std::string_view suffix) {
  if (in.failed() || (given.exists() && in.shape(given) == shape)) return given;
  if (given.exists()) return expand(in, given, shape.to_vector(), suffix);
  Tensor tensor(DType::f32, shape);
  std::fill_n(tensor.as<float>(), tensor.elements(), fallback);
  return in.constant(std::move(tensor), suffix);
}

}  // namespace

ValueId batch_norm(NodeBuilder& in, const NormArgs& args, ValueId mean, ValueId variance) {
  in.require_rank(args.x, 2, kMaxRank);
  const Shape channels = in.shape(mean);
  const ValueId scale = args.scale.exists() ? args.scale : filled(in, {}, channels, 1.0f, "scale");
  const ValueId bias = args.bias.exists() ? args.bias : filled(in, {}, channels, 0.0f, "bias");
  return in.add(kBatchNorm, BatchNormAttrs{.epsilon = args.epsilon, .axis = 1}, {args.x, scale, bias, mean, variance});
}

ValueId layer_norm(NodeBuilder& in, const NormArgs& args, std::int64_t axis) {
  if (in.failed()) return {};
  const OpenShape normalized(in.shape(args.x).dims().subspan(static_cast<std::size_t>(axis)));
  const Shape dims = normalized;
  const ValueId scale = filled(in, args.scale, dims, 1.0f, "scale");
  const ValueId bias = args.bias.exists() ? filled(in, args.bias, dims, 0.0f, "bias") : ValueId{};
  return in.add(kLayerNorm, LayerNormAttrs{.axis = axis, .epsilon = args.epsilon}, {args.x, scale, bias});
}

ValueId group_norm(NodeBuilder& in, const NormArgs& args, const Number& groups) {
  in.require_rank(args.x, 3, kMaxRank);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(args.x);
  if (groups < 1 || shape[1] % groups.value != 0)
    return in.fail(groups.place, std::to_string(groups.value), "a divisor of " + to_string(shape[1]) + " channels");
  const Dim inner = shape.elements(1, shape.rank()) / groups.value;
  const ValueId lines = in.reshape(args.x, {shape[0], groups.value, inner}, "lines");
  const ValueId ones = expand(in, in.scalar_like(args.x, 1.0, "one"), Extents{inner}, "ones");
  const bool is_affine = args.scale.exists() || args.bias.exists();
  const ValueId normalized =
      in.add(kLayerNorm, LayerNormAttrs{.axis = 2, .epsilon = args.epsilon}, {lines, ones}, "normalized");
  const ValueId y = in.reshape(normalized, shape.to_vector(), is_affine ? "image" : "");
  if (!is_affine || in.failed()) return y;
  const Shape channels{shape[1].fixed()};
  const ValueId mean = filled(in, {}, channels, 0.0f, "mean"), variance = filled(in, {}, channels, 1.0f, "variance");
  return batch_norm(in, {.x = y, .scale = args.scale, .bias = args.bias, .epsilon = 0.0f}, mean, variance);
}

ValueId absolute_power(NodeBuilder& in, ValueId x, float p) {
  if (p == 2.0f) return in.binary(BinaryKind::mul, x, x, "powers");
  const ValueId size = in.unary({.kind = UnaryKind::abs}, x, p == 1.0f ? "powers" : "size");
  return p == 1.0f || in.failed() ? size : in.binary(BinaryKind::pow, size, in.scalar_like(size, p, "p"), "powers");
}

ValueId root(NodeBuilder& in, ValueId y, float p, std::string_view suffix) {
  if (p == 1.0f || in.failed()) return y;
  if (p == 2.0f) return in.unary({.kind = UnaryKind::sqrt}, y, suffix);
  return in.binary(BinaryKind::pow, y, in.scalar_like(y, 1.0 / static_cast<double>(p), "inverse_p"), suffix);
}

ValueId lp_norm(NodeBuilder& in, const ReduceArgs& args, float p, std::string_view suffix) {
  ReduceArgs sum = args;
  if (p == 1.0f || p == 2.0f) {
    sum.kind = p == 1.0f ? ReduceKind::l1 : ReduceKind::l2;
    return reduce(in, sum, suffix);
  }
  sum.x = absolute_power(in, args.x, p);
  sum.kind = ReduceKind::sum;
  return root(in, reduce(in, sum, "sum"), p, suffix);
}

ValueId softmax(NodeBuilder& in, ValueId x, const Number& axis, SoftmaxKind kind, std::string_view suffix) {
  return in.add(kSoftmax, SoftmaxAttrs{.kind = kind, .axis = in.axis(axis, in.rank(x))}, {x}, suffix);
}

ValueId clip(NodeBuilder& in, ValueId x, float lowest, float highest, std::string_view suffix) {
  return in.unary({.kind = UnaryKind::clip, .alpha = lowest, .beta = highest}, x, suffix);
}

ValueId gelu(NodeBuilder& in, ValueId x, const std::string& approximation, const std::string& place) {
  if (approximation != "none" && approximation != "tanh")
    return in.fail(place, "'" + approximation + "'", "'none' or 'tanh'");
  return in.unary({.kind = approximation == "tanh" ? UnaryKind::gelu_tanh : UnaryKind::gelu}, x);
}

}  // namespace octavo::importing
