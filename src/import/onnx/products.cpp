// ONNX readers: products with matrices, reductions, normalisations, and what does nothing in inference. Part of
// import/.
#include <algorithm>
#include <limits>
#include <numeric>

#include "import/onnx/operators.h"
#include "ops/cumsum/cumsum.h"
#include "ops/dequantize/dequantize.h"
#include "ops/matmul_integer/matmul_integer.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;

// ---- products ----

// The other way round; a transposed dequantized constant stays a dequantized constant. `x` has rank 2.
ValueId transpose_matrix(NodeReader& in, ValueId x, std::string_view suffix) {
  const Integers perm{1, 0};
  const Node* made_by = in.built().graph.producer_if(x, kDequantize);
  if (made_by == nullptr || !in.is_constant(made_by->inputs[0])) return transpose(in, x, perm, suffix);
  auto attrs = made_by->attrs.as<DequantizeAttrs>();
  if (attrs.block != 0) return transpose(in, x, perm, suffix);
  if (attrs.axis >= 0) attrs.axis = 1 - attrs.axis;
  std::vector<ValueId> inputs = made_by->inputs;
  inputs[0] = transpose(in, inputs[0], perm, std::string(suffix) + ".integers");
  return in.add(kDequantize, attrs, inputs, suffix);
}

ValueId read_gemm(NodeReader& in) { return gemm(in, ""); }

ValueId read_matmul(NodeReader& in) {
  const ValueId a = in.value(0);
  return matmul(in, a, in.value(1));
}

// The last two axes the other way round.
ValueId transpose_matrices(NodeReader& in, ValueId x, std::string_view suffix) {
  in.require_rank(x, 2, kMaxRank);
  if (in.failed()) return {};
  const int rank = in.rank(x);
  return rank == 2 ? transpose_matrix(in, x, suffix) : swap_axes(in, x, rank - 2, rank - 1, suffix);
}

// The first axis as the last but one, where a flag says that it stands before those of the batch.
ValueId batch_first(NodeReader& in, ValueId x, std::string_view flag, std::string_view suffix) {
  if (!in.flag(flag)) return x;
  in.require_rank(x, 3, kMaxRank);
  if (in.failed()) return {};
  Integers perm(static_cast<std::size_t>(in.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  return transpose(in, x, perm, suffix);
}

ValueId read_fused_matmul(NodeReader& in) {
  ValueId a = batch_first(in, in.value(0, "A"), "transBatchA", "a_batch");
  ValueId b = batch_first(in, in.value(1, "B"), "transBatchB", "b_batch");
  const float alpha = in.number("alpha", 1.0f);
  if (in.flag("transA")) a = transpose_matrices(in, a, "a_transposed");
  if (in.flag("transB")) b = transpose_matrices(in, b, "b_transposed");
  return scaled(in, matmul(in, a, b, {}, alpha == 1.0f ? "" : "product"), alpha, "");
}

ValueId read_matmul_integer(NodeReader& in) {
  const ValueId a = in.value(0), b = in.value(1), a_zero = in.optional(2), b_zero = in.optional(3);
  return in.add(kMatmulInteger, NoAttrs{},
                {a, b, scalar_if_single(in, a_zero, "a_zero_point"), scalar_if_single(in, b_zero, "b_zero_point")});
}

// ---- reductions ----

template <ReduceKind kind>
ValueId read_reduce(NodeReader& in) {
  const int since = kind == ReduceKind::sum ? 13 : 18;  // axes are an input
  if (in.opset() < since && in.input_count() > 1) return in.fail("", "2 inputs", "1 and the attribute 'axes'");
  return reduce(in, {.x = in.value(0),
                     .kind = kind,
                     .axes = in.integers_since(since, "axes", 1),
                     .keeps_dims = in.flag("keepdims", true),
                     .empty_is_all = in.opset() < since || !in.flag("noop_with_empty_axes")});
}

template <CumsumKind kind>
ValueId read_cumsum(NodeReader& in) {
  const ValueId x = in.value(0);
  const Numbers axis = in.constant_integers(1, "axis");
  const bool exclusive = in.flag("exclusive"), reverse = in.flag("reverse");
  if (in.failed()) return {};
  if (axis.size() != 1) return in.fail(axis.place, std::to_string(axis.size()) + " numbers", "one");
  return in.add(kCumsum, CumsumAttrs{in.axis({axis[0], axis.place}, in.rank(x)), exclusive, reverse, kind}, {x});
}

template <ArgKind kind>
ValueId read_argmax(NodeReader& in) {
  return argmax(in, in.value(0), in.integer("axis", 0),
                {.kind = kind,
                 .keep_dims = in.flag("keepdims", true),
                 .select_last = in.opset() >= 12 && in.flag("select_last_index")});
}

// ---- normalisations ----

template <SoftmaxKind kind>
ValueId read_softmax(NodeReader& in) {
  const bool is_new = in.opset() >= 13;
  return softmax_of(in, in.value(0), is_new, in.integer("axis", is_new ? -1 : 1), kind, "");
}

// Statistics of the batch itself, one number per channel, and the running ones moved towards them: opset 14's
// training_mode.
struct BatchStatistics {
  ValueId mean, variance;
};

BatchStatistics batch_statistics(NodeReader& in, ValueId x, ValueId running_mean, ValueId running_variance) {
  Integers axes;
  for (int i = 0; i < in.rank(x); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const ValueId mean = reduce(in, {.x = x, .kind = ReduceKind::mean, .axes = axes}, "mean");
  const ValueId centred = in.binary(B::sub, x, mean, "centred");
  const ValueId squares = in.binary(B::mul, centred, centred, "squares");
  const ValueId variance =
      reduce(in, {.x = squares, .kind = ReduceKind::mean, .axes = axes, .keeps_dims = false}, "variance");
  const float momentum = in.number("momentum", 0.9f);
  if (in.failed()) return {};
  const ValueId flat_mean = in.reshape(mean, {in.shape(x)[1]}, "flat_mean");
  const auto moved = [&](ValueId running, ValueId now, const std::string& name) {
    const ValueId kept =
        in.binary(B::mul, running, in.scalar_like(running, momentum, name + ".momentum"), name + ".kept");
    const ValueId added = in.binary(B::mul, now, in.scalar_like(now, 1.0f - momentum, name + ".rest"), name + ".added");
    return in.binary(B::add, kept, added, name);
  };
  in.output(1, moved(running_mean, flat_mean, "running_mean"));
  in.output(2, moved(running_variance, variance, "running_variance"));
  return {flat_mean, variance};
}

ValueId read_batch_norm(NodeReader& in) {
  const ValueId x = in.value(0, "X"), scale = in.value(1), bias = in.value(2);
  BatchStatistics statistics{in.value(3), in.value(4)};
  const float epsilon = in.number("epsilon", 1e-5f);
  in.ignore("momentum");
  if (in.opset() < 9 && in.integer("spatial", 1) != 1) in.unsupported("attribute 'spatial'", "0", "1");
  in.require_rank(x, 2, kMaxRank);
  if (in.opset() >= 14 && in.flag("training_mode") && !in.failed())
    statistics = batch_statistics(in, x, statistics.mean, statistics.variance);
  return batch_norm(in, {x, scale, bias, epsilon}, statistics.mean, statistics.variance);
}

// The optional outputs of LayerNormalization: mean and 1 / sqrt(variance + epsilon).
void add_statistics(NodeReader& in, ValueId x, std::int64_t axis, float epsilon) {
  if (!in.wants(1) && !in.wants(2)) return;
  Integers axes(static_cast<std::size_t>(in.rank(x) - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const ValueId mean = reduce(in, {.x = x, .kind = ReduceKind::mean, .axes = axes}, "mean");
  const ValueId centred = in.binary(B::sub, x, mean, "centred");
  const ValueId squares = in.binary(B::mul, centred, centred, "squares");
  const ValueId variance = reduce(in, {.x = squares, .kind = ReduceKind::mean, .axes = axes}, "variance");
  if (in.failed()) return;
  const ValueId sum = in.binary(B::add, variance, in.scalar_like(variance, epsilon, "epsilon"), "stable_variance");
  in.output(1, mean);
  in.output(2, in.unary({.kind = UnaryKind::reciprocal}, in.unary({.kind = UnaryKind::sqrt}, sum, "deviation"),
                        "inverse_deviation"));
}

ValueId read_layer_norm(NodeReader& in) {
  const ValueId x = in.value(0), scale = in.value(1), bias = in.optional(2);
  const float epsilon = in.number("epsilon", 1e-5f);
  const std::int64_t stash_type = in.integer("stash_type", 1);
  if (stash_type != 1) in.unsupported("attribute 'stash_type'", std::to_string(stash_type), "1 (FLOAT)");
  const std::int64_t axis = in.axis(in.integer("axis", -1), in.rank(x));
  if (in.failed()) return {};
  const ValueId y = layer_norm(in, {x, scale, bias, epsilon}, axis);
  add_statistics(in, x, axis, epsilon);
  return y;
}

ValueId read_instance_norm(NodeReader& in) {
  const NormArgs args{in.value(0), in.value(1), in.value(2), in.number("epsilon", 1e-5f)};
  in.require_rank(args.x, 3, kMaxRank);
  return in.failed() ? ValueId{} : group_norm(in, args, in.shape(args.x)[1].fixed());
}

// Before opset 21 scale and bias have one number per group.
ValueId per_channel(NodeReader& in, ValueId per_group, std::int64_t groups, const Dim& channels,
                    std::string_view suffix) {
  in.require_rank(per_group, 1, 1);
  if (in.failed() || groups < 1 || in.shape(per_group)[0] != groups) return per_group;
  const ValueId column = in.reshape(per_group, {groups, 1}, std::string(suffix) + ".column");
  return in.reshape(expand(in, column, Extents{groups, channels / groups}, std::string(suffix) + ".rows"), {channels},
                    suffix);
}

ValueId read_group_norm(NodeReader& in) {
  NormArgs args{in.value(0), in.value(1), in.value(2), in.number("epsilon", 1e-5f)};
  const Number groups = in.integer("num_groups");
  in.ignore("stash_type");
  in.require_rank(args.x, 3, kMaxRank);
  if (in.failed()) return {};
  if (in.opset() < 21) {
    const Dim channels = in.shape(args.x)[1];
    args.scale = per_channel(in, args.scale, groups, channels, "scale");
    args.bias = per_channel(in, args.bias, groups, channels, "bias");
  }
  return group_norm(in, args, groups);
}

ValueId read_lp_normalization(NodeReader& in) {
  const ValueId x = in.value(0);
  const Number p = in.integer("p", 2), axis = in.integer("axis", -1);
  if (p != 1 && p != 2) return in.fail(p.place, std::to_string(p.value), "1 or 2");
  const ValueId norm =
      lp_norm(in, {.x = x, .axes = Numbers(Integers{axis}, axis.place)}, static_cast<float>(p.value), "norm");
  if (in.failed()) return {};
  // A line of zeros stays one.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  return in.binary(B::div, x, in.binary(B::max, norm, in.scalar_like(norm, kSmallest, "smallest"), "divisor"));
}

ValueId read_mean_variance_normalization(NodeReader& in) {
  const ValueId x = in.value(0);
  const Numbers axes = in.integers("axes", {0, 2, 3});
  const ValueId mean = reduce(in, {.x = x, .kind = ReduceKind::mean, .axes = axes}, "mean");
  const ValueId centred = in.binary(B::sub, x, mean, "centred");
  const ValueId squares = in.binary(B::mul, centred, centred, "squares");
  const ValueId variance = reduce(in, {.x = squares, .kind = ReduceKind::mean, .axes = axes}, "variance");
  if (in.failed()) return {};
  const ValueId deviation = in.unary({.kind = UnaryKind::sqrt}, variance, "deviation");
  return in.binary(B::div, centred, in.binary(B::add, deviation, in.scalar_like(deviation, 1e-9, "least"), "divisor"));
}

ValueId read_dropout(NodeReader& in) {
  const ValueId x = in.value(0);
  in.ignore("ratio"), in.ignore("seed");
  if (in.has(2)) {
    const auto trains = in.constant_of(2, "training_mode");
    const auto is_zero = [](const std::shared_ptr<const Tensor>& tensor) {
      return tensor != nullptr && tensor->elements() == 1 && element_as_double(tensor->view(), 0) == 0.0;
    };
    if (!is_zero(trains) && !is_zero(in.fact(in.optional(1)).constant))
      in.unsupported("input 'training_mode'", "true", "false, or the ratio 0");
  }
  if (in.failed() || !in.wants(1)) return x;
  // Everything is kept.
  Tensor kept(in.opset() < 10 ? in.dtype(x) : DType::boolean, Shape{});
  store_double(kept.view(), 0, 1.0);
  in.output(1, expand(in, in.constant(std::move(kept), "kept"), in.shape(x).to_vector(), "mask"));
  return x;
}

constexpr Operator kProductsTable[] = {
    {"ArgMax", 1, 1, 1, read_argmax<ArgKind::max>},
    {"ArgMin", 1, 1, 1, read_argmax<ArgKind::min>},
    {"BatchNormalization", 7, 5, 5, read_batch_norm},
    {"CumProd", 26, 2, 2, read_cumsum<CumsumKind::product>},
    {"CumSum", 11, 2, 2, read_cumsum<CumsumKind::sum>},
    {"Dropout", 7, 1, 3, read_dropout},
    {"Gemm", 7, 2, 3, read_gemm},
    {"GroupNormalization", 18, 3, 3, read_group_norm},
    {"InstanceNormalization", 6, 3, 3, read_instance_norm},
    {"LayerNormalization", 17, 2, 3, read_layer_norm},
    {"LogSoftmax", 1, 1, 1, read_softmax<SoftmaxKind::log_softmax>},
    {"LpNormalization", 1, 1, 1, read_lp_normalization},
    {"MatMul", 1, 2, 2, read_matmul},
    {"MatMulInteger", 10, 2, 4, read_matmul_integer},
    {"MeanVarianceNormalization", 9, 1, 1, read_mean_variance_normalization},
    {"ReduceL1", 1, 1, 2, read_reduce<ReduceKind::l1>},
    {"ReduceL2", 1, 1, 2, read_reduce<ReduceKind::l2>},
    {"ReduceLogSum", 1, 1, 2, read_reduce<ReduceKind::log_sum>},
    {"ReduceLogSumExp", 1, 1, 2, read_reduce<ReduceKind::log_sum_exp>},
    {"ReduceMax", 1, 1, 2, read_reduce<ReduceKind::max>},
    {"ReduceMean", 1, 1, 2, read_reduce<ReduceKind::mean>},
    {"ReduceMin", 1, 1, 2, read_reduce<ReduceKind::min>},
    {"ReduceProd", 1, 1, 2, read_reduce<ReduceKind::prod>},
    {"ReduceSum", 1, 1, 2, read_reduce<ReduceKind::sum>},
    {"ReduceSumSquare", 1, 1, 2, read_reduce<ReduceKind::sum_square>},
    {"Softmax", 1, 1, 1, read_softmax<SoftmaxKind::softmax>},
    {"com.microsoft.FusedMatMul", 1, 2, 2, read_fused_matmul},
};

}  // namespace

const std::span<const Operator> kProducts = kProductsTable;

ValueId gemm_product(NodeReader& in, ValueId a, ValueId b, std::string_view suffix) {
  const float alpha = in.number("alpha", 1.0f);
  const bool transposes_a = in.flag("transA"), transposes_b = in.flag("transB");
  in.require_rank(a, 2, 2);
  in.require_rank(b, 2, 2);
  if (in.failed()) return {};
  if (transposes_a) a = transpose_matrix(in, a, "a_transposed");
  if (transposes_b) b = transpose_matrix(in, b, "b_transposed");
  return scaled(in, matmul(in, a, b, {}, alpha == 1.0f ? suffix : "product"), alpha, suffix);
}

ValueId gemm(NodeReader& in, std::string_view suffix) {
  const ValueId a = in.value(0, "A"), b = in.value(1, "B"), c = in.optional(2, "C");
  const float beta = in.number("beta", 1.0f);
  if (!c.exists() && in.opset() < 11 && !in.is_microsoft()) return in.fail("input 'C'", "none", "one");
  const bool adds = c.exists() && beta != 0.0f;
  const ValueId product = gemm_product(in, a, b, adds ? "matmul" : suffix);
  if (in.failed() || !adds) return product;
  const ValueId sum = in.binary(BinaryKind::add, product, scaled(in, c, beta, "beta"), suffix);
  if (in.failed() || in.shape(sum) == in.shape(product)) return sum;
  return in.fail("input 'C'", "shape " + in.shape(c).to_string(),
                 "one that broadcasts to " + in.shape(product).to_string());
}

ValueId softmax_of(NodeReader& in, ValueId x, bool is_along_one_axis, const Number& axis, SoftmaxKind kind,
                   std::string_view suffix) {
  const auto from = static_cast<int>(in.axis(axis, in.rank(x)));
  if (in.failed()) return {};
  const OpenShape shape = in.shape(x);
  const Dim after = shape.elements(from + 1, shape.rank());
  if (is_along_one_axis || is_one(after)) return softmax(in, x, from, kind, suffix);
  const ValueId flat = in.reshape(x, {shape.elements(0, from), shape[from] * after}, "flat");
  return in.reshape(softmax(in, flat, 1, kind, "softmax"), shape.to_vector(), suffix);
}

}  // namespace octavo::onnx_import
