// ATen readers: products with matrices, reductions, normalisations. Part of import/.
#include <algorithm>
#include <cmath>

#include "import/pt2/operators.h"
#include "ops/cumsum/cumsum.h"

namespace octavo::pt2_import {
namespace {

// y = x · wᵀ + bias. A transposed dequantized constant stays a dequantized constant in lowering.
ValueId read_linear(NodeReader& in) {
  const ValueId x = in.value("input"), w = in.value("weight"), bias = in.optional("bias");
  in.require_rank(w, 2, 2);
  return matmul(in, x, swap_axes(in, w, 0, 1, "weight"), bias);
}

// beta · self + alpha · mat1 · mat2
ValueId read_addmm(NodeReader& in) {
  const ValueId bias = in.value("self"), a = in.value("mat1"), b = in.value("mat2");
  const double beta = in.number("beta", 1.0), alpha = in.number("alpha", 1.0);
  in.require_rank(a, 2, 2);
  in.require_rank(b, 2, 2);
  const ValueId product = scaled(in, matmul(in, a, b, {}, "matmul"), alpha, "scaled");
  return beta == 0.0 ? product : in.binary(BinaryKind::add, product, scaled(in, bias, beta, "bias"));
}

ValueId read_matmul(NodeReader& in) {
  const ValueId a = in.value("self");
  return matmul(in, a, in.value(in.has("mat2") ? "mat2" : "other"));
}

// Integers are summed in s64, whatever their type.
template <ReduceKind kind>
ValueId read_reduce(NodeReader& in) {
  const ValueId x = in.value("self");
  const bool widens = kind == ReduceKind::sum && !is_float(in.dtype(x));
  const DType type = in.element_type("dtype", widens ? DType::s64 : in.dtype(x));
  return reduce(
      in, {.x = in.cast(x, type, "x"), .kind = kind, .axes = in.integers("dim"), .keeps_dims = in.flag("keepdim")});
}

// (sum of |x|^order)^(1/order), or the largest or smallest |x|.
ValueId norm(NodeReader& in, ReduceArgs args, std::string_view argument) {
  const double order = in.number(argument, 2.0);
  if (order == 0.0 || std::isnan(order))
    return in.unsupported(quoted("argument", argument), std::to_string(order), "another");
  if (!std::isinf(order)) return lp_norm(in, args, static_cast<float>(order));
  args.x = in.unary({.kind = UnaryKind::abs}, args.x, "sizes");
  args.kind = order > 0.0 ? ReduceKind::max : ReduceKind::min;
  return reduce(in, args);
}

ValueId read_vector_norm(NodeReader& in) {
  const ValueId x = in.value("self");
  const DType type = in.element_type("dtype", in.dtype(x));
  return norm(in, {.x = in.cast(x, type, "x"), .axes = in.integers("dim"), .keeps_dims = in.flag("keepdim")}, "ord");
}

// The norms of all differences of a row of x1 and a row of x2.
ValueId read_cdist(NodeReader& in) {
  const ValueId a = in.value("x1"), b = in.value("x2");
  in.ignore("compute_mode");  // how PyTorch computes it
  in.require_rank(a, 2, kMaxRank - 1);
  in.require_rank(b, 2, kMaxRank - 1);
  if (in.failed()) return {};
  const ValueId rows = unsqueeze(in, a, Integers{-2}, "rows"), columns = unsqueeze(in, b, Integers{-3}, "columns");
  const ValueId differences = in.binary(BinaryKind::sub, rows, columns, "differences");
  return norm(in, {.x = differences, .axes = Integers{-1}, .keeps_dims = false}, "p");
}

template <ArgKind kind>
ValueId read_argmax(NodeReader& in) {
  const ValueId x = in.value("self");
  const bool is_flat = !in.has("dim"), keeps_dims = in.flag("keepdim");
  if (is_flat && keeps_dims) return in.unsupported("argument 'keepdim'", "true without 'dim'", "false");
  const ValueId values = is_flat ? in.reshape(x, {in.shape(x).elements()}, "flat") : x;
  return argmax(in, values, in.integer("dim", 0), {.kind = kind, .keep_dims = keeps_dims});
}

// The largest or smallest elements along an axis, and where they are; or of all.
template <ReduceKind kind>
ValueId read_extreme(NodeReader& in) {
  ReduceArgs args{.x = in.value("self"), .kind = kind};
  if (!in.has("dim")) return reduce(in, {.x = args.x, .kind = kind, .keeps_dims = false});
  const Number dim = in.integer("dim");
  args.axes = Numbers(Integers{dim}, dim.place);
  args.keeps_dims = in.flag("keepdim");
  const ArgmaxAttrs attrs{.kind = kind == ReduceKind::max ? ArgKind::max : ArgKind::min, .keep_dims = args.keeps_dims};
  in.output(1, argmax(in, args.x, dim, attrs, "positions"));
  return reduce(in, args);
}

// Of integers in s64, whatever their type.
template <CumsumKind kind>
ValueId read_cumsum(NodeReader& in) {
  const ValueId x = in.value("self");
  const DType type = in.element_type("dtype", is_float(in.dtype(x)) ? in.dtype(x) : DType::s64);
  return in.add(kCumsum, CumsumAttrs{.axis = in.axis(in.integer("dim"), in.rank(x)), .kind = kind},
                {in.cast(x, type, "x")});
}

template <SoftmaxKind kind>
ValueId read_softmax(NodeReader& in) {
  const ValueId x = in.value("self");
  in.ignore("half_to_float");
  const DType type = in.element_type("dtype", in.dtype(x));
  return softmax(in, in.cast(x, type, "x"), in.integer("dim"), kind);
}

ValueId read_batch_norm(NodeReader& in) {
  const ValueId mean = in.value("running_mean"), variance = in.value("running_var");
  in.ignore("momentum"), in.ignore("cudnn_enabled");
  if (in.flag("training")) in.unsupported("argument 'training'", "true", "false; export the model in evaluation mode");
  return batch_norm(in, {in.value("input"), in.optional("weight"), in.optional("bias"), in.real("eps", 1e-5f)}, mean,
                    variance);
}

// By the statistics of what comes, which is one image: so an instance normalisation is written, all images' channels in
// a row.
ValueId read_norm_of_one(NodeReader& in) {
  const ValueId x = in.value("input"), weight = in.optional("weight"), bias = in.optional("bias");
  const float epsilon = in.real("eps", 1e-5f);
  in.ignore("momentum"), in.ignore("training");
  in.require_rank(x, 3, kMaxRank);
  if (in.failed()) return {};
  if (!is_one(in.shape(x)[0]))
    return in.unsupported("argument 'input'", "shape " + in.shape(x).to_string(),
                          "one image; export the model in evaluation mode");
  Extents by_channel(static_cast<std::size_t>(in.rank(x)) - 1, 1);
  by_channel[0] = in.shape(x)[1];
  ValueId y = layer_norm(in, {.x = x, .epsilon = epsilon}, 2);
  if (weight.exists()) y = in.binary(BinaryKind::mul, y, in.reshape(weight, by_channel, "weight"), "scaled");
  return bias.exists() ? in.binary(BinaryKind::add, y, in.reshape(bias, by_channel, "bias")) : y;
}

ValueId read_layer_norm(NodeReader& in) {
  const NormArgs args{in.value("input"), in.optional("weight"), in.optional("bias"), in.real("eps", 1e-5f)};
  const Numbers sizes = in.integers("normalized_shape");
  in.ignore("cudnn_enable");
  if (in.failed()) return {};
  const int axis = in.rank(args.x) - static_cast<int>(sizes.size());
  if (axis < 0 || !std::equal(sizes.begin(), sizes.end(), in.shape(args.x).begin() + axis))
    return in.fail(sizes.place, OpenShape(sizes.values).to_string(),
                   "the last sizes of " + in.shape(args.x).to_string());
  return layer_norm(in, args, axis);
}

ValueId read_group_norm(NodeReader& in) {
  const NormArgs args{in.value("input"), in.optional("weight"), in.optional("bias"), in.real("eps", 1e-5f)};
  for (const std::string_view size : {"N", "C", "HxW", "cudnn_enabled"}) in.ignore(size);
  return group_norm(in, args, in.integer(in.has("group") ? "group" : "num_groups"));
}

ValueId read_instance_norm(NodeReader& in) {
  const NormArgs args{in.value("input"), in.optional("weight"), in.optional("bias"), in.real("eps", 1e-5f)};
  in.ignore("momentum"), in.ignore("cudnn_enabled");
  if (!in.flag("use_input_stats", true)) {
    return batch_norm(in, args, in.value("running_mean"), in.value("running_var"));
  }
  in.ignore("running_mean"), in.ignore("running_var");
  in.require_rank(args.x, 3, kMaxRank);
  return in.failed() ? ValueId{} : group_norm(in, args, in.shape(args.x)[1].fixed());
}

ValueId read_rms_norm(NodeReader& in) {
  const NormArgs args{in.value("input"), in.optional("weight"), {}, in.real("eps", 0x1p-23f)};
  const Numbers sizes = in.integers("normalized_shape");
  if (in.failed()) return {};
  const int axis = in.rank(args.x) - static_cast<int>(sizes.size());
  if (axis < 0 || !std::equal(sizes.begin(), sizes.end(), in.shape(args.x).begin() + axis))
    return in.fail(sizes.place, OpenShape(sizes.values).to_string(),
                   "the last sizes of " + in.shape(args.x).to_string());
  return rms_norm(in, args, axis);
}

ValueId read_attention(NodeReader& in) {
  const ValueId q = in.value("query"), k = in.value("key"), v = in.value("value"), mask = in.optional("attn_mask");
  const double dropout = in.number("dropout_p", 0.0);
  if (dropout != 0.0)
    in.unsupported("argument 'dropout_p'", std::to_string(dropout), "0; export the model in evaluation mode");
  in.ignore("enable_gqa");  // the shapes tell
  const auto scale = in.has("scale") ? std::optional(in.real("scale", 1.0f)) : std::nullopt;
  in.ignore("scale");
  return attention_by_axes(in,
                           {.q = q, .k = k, .v = v, .mask = mask, .scale = scale, .is_causal = in.flag("is_causal")});
}

ValueId read_embedding(NodeReader& in) {
  const ValueId table = in.value("weight");
  in.ignore("padding_idx"), in.ignore("scale_grad_by_freq"), in.ignore("sparse");  // only concern training
  return gather(in, table, in.value("indices"), 0);
}

constexpr Operator kProductsTable[] = {
    {"aten._cdist_forward", "default", kFresh, read_cdist},
    {"aten._log_softmax", "default", kFresh, read_softmax<SoftmaxKind::log_softmax>},
    {"aten._native_batch_norm_legit", "default", kFresh, read_batch_norm},
    {"aten._native_batch_norm_legit", "no_stats", kFresh, read_norm_of_one},
    {"aten._native_batch_norm_legit_no_training", "default", kFresh, read_batch_norm},
    {"aten._softmax", "default", kFresh, read_softmax<SoftmaxKind::softmax>},
    {"aten.addmm", "default", kFresh, read_addmm},
    {"aten.amax", "default", kFresh, read_reduce<ReduceKind::max>},
    {"aten.amin", "default", kFresh, read_reduce<ReduceKind::min>},
    {"aten.argmax", "default", kFresh, read_argmax<ArgKind::max>},
    {"aten.argmin", "default", kFresh, read_argmax<ArgKind::min>},
    {"aten.batch_norm", "default", kFresh, read_batch_norm},
    {"aten.bmm", "default", kFresh, read_matmul},
    {"aten.cdist", "default", kFresh, read_cdist},
    {"aten.cumprod", "default", kFresh, read_cumsum<CumsumKind::product>},
    {"aten.cumsum", "default", kFresh, read_cumsum<CumsumKind::sum>},
    {"aten.embedding", "default", kFresh, read_embedding},
    {"aten.group_norm", "default", kFresh, read_group_norm},
    {"aten.instance_norm", "default", kFresh, read_instance_norm},
    {"aten.layer_norm", "default", kFresh, read_layer_norm},
    {"aten.linalg_vector_norm", "default", kFresh, read_vector_norm},
    {"aten.linear", "default", kFresh, read_linear},
    {"aten.log_softmax", "int", kFresh, read_softmax<SoftmaxKind::log_softmax>},
    {"aten.matmul", "default", kFresh, read_matmul},
    {"aten.max", "default dim", kFresh, read_extreme<ReduceKind::max>},
    {"aten.mean", "default dim", kFresh, read_reduce<ReduceKind::mean>},
    {"aten.min", "default dim", kFresh, read_extreme<ReduceKind::min>},
    {"aten.mm", "default", kFresh, read_matmul},
    {"aten.native_batch_norm", "default", kFresh, read_batch_norm},
    {"aten.native_group_norm", "default", kFresh, read_group_norm},
    {"aten.native_layer_norm", "default", kFresh, read_layer_norm},
    {"aten.rms_norm", "default", kFresh, read_rms_norm},
    {"aten.scaled_dot_product_attention", "default", kFresh, read_attention},
    {"aten.softmax", "int", kFresh, read_softmax<SoftmaxKind::softmax>},
    {"aten.sum", "default dim_IntList", kFresh, read_reduce<ReduceKind::sum>},
};

}  // namespace

const std::span<const Operator> kProducts = kProductsTable;

}  // namespace octavo::pt2_import
