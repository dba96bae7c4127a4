// TFLite readers: products of two activations, reductions over axes, and softmax. Part of import/.

#include <algorithm>
#include <limits>
#include <optional>

#include "base/fields.h"
#include "base/math.h"
#include "base/requantize.h"
#include "import/tflite/fixed_scaling.h"
#include "import/tflite/operators.h"
#include "ops/cumsum/cumsum.h"
#include "ops/lrn/lrn.h"
#include "ops/scatter_nd/scatter_nd.h"

namespace octavo::tflite_import {
namespace {

bool has_one_scale(const FileTensor& tensor) {
  return tensor.stands_for_reals() && tensor.quant && tensor.quant->axis < 0;
}

// Sums of 64 bits of s16 values by s16 or s8 ones, without zero points; constant matrices of bytes are what
// convolutions have.
bool is_wide_product(const OperatorReader& in) {
  const FileTensor &x = in.tensor(0), &y = in.tensor(1), &to = in.output_tensor(0);
  const bool is_matrix = y.constant != nullptr && y.shape.rank() == 2 && y.dtype == DType::s8;
  return x.dtype == DType::s16 && to.dtype == DType::s16 && y.dtype != DType::u8 && has_one_scale(x) &&
         has_one_scale(y) && has_one_scale(to) && x.quant->zero_point[0] == 0 && y.quant->zero_point[0] == 0 &&
         is_of_tflite(in.profile()) && !is_matrix;
}

ValueId wide_product(OperatorReader& in, ValueId x, ValueId y) {
  const auto scale = [](const FileTensor& tensor) { return tensor.quant->scale[0]; };
  const double ratio =
      static_cast<double>(scale(in.tensor(0)) * scale(in.tensor(1))) / static_cast<double>(scale(in.output_tensor(0)));
  const ValueId sums = matmul(in, in.cast(x, DType::s64, "x_wide"), in.cast(y, DType::s64, "y_wide"), {}, "sums");
  return saturated(in, times_wide(in, sums, FixedMultiplier::of(ratio), "sums"),
                   in.output_tensor(0).quant->zero_point[0], DType::s16, "result");
}

// The last two axes of either operand may be the other way round. Integers beside floats count as what they stand for.
ValueId read_batch_matmul(OperatorReader& in) {
  const auto* given = in.options<file::BatchMatMulOptions>();
  const bool is_wide = is_wide_product(in);
  const auto matrices = [&](int index, bool is_turned, std::string_view suffix) {
    const ValueId x = is_wide ? in.stored(index) : in.value(index);
    in.require_rank(x, 2, kMaxRank);
    return is_turned && !in.failed() ? swap_axes(in, x, in.rank(x) - 2, in.rank(x) - 1, suffix) : x;
  };
  const ValueId x = matrices(0, given != nullptr && given->adj_x(), "x_turned");
  const ValueId y = matrices(1, given != nullptr && given->adj_y(), "y_turned");
  return is_wide ? wide_product(in, x, y) : matmul(in, x, y);
}

template <ReduceKind kind>
ValueId read_reduce(OperatorReader& in) {
  const auto* given = in.options<file::ReducerOptions>();
  const ValueId x = in.value(0);
  return reduce(in, {.x = x,
                     .kind = kind,
                     .axes = in.constant_integers(1, "axes"),
                     .keeps_dims = given != nullptr && given->keep_dims(),
                     .empty_is_all = false,
                     .may_repeat = true});
}

// What LiteRT multiplies one after the other, as integers: each time by the scale over the nth root of the result's.
struct FixedProduct {
  Integers perm;                     // the reduced axes first
  std::int64_t terms = 1, rest = 1;  // elements of these, and of the others
  Extents dims;                      // of the result
};

// More terms are multiplied in floats.
constexpr std::int64_t kMostFactors = 64;

// Nothing where the operator is not of such integers, or of an open size.
std::optional<FixedProduct> fixed_product(OperatorReader& in, bool keeps_dims) {
  const FileTensor &from = in.tensor(0), &to = in.output_tensor(0);
  const bool is_known_type = from.dtype == DType::s8 || from.dtype == DType::s16;
  const ValueId x = in.stored(0);
  const Numbers axes = in.constant_integers(1, "axes");
  if (in.failed() || !is_known_type || to.dtype != from.dtype || !has_one_scale(from) || !has_one_scale(to) ||
      !is_of_tflite(in.profile()))
    return std::nullopt;
  const OpenShape& shape = in.shape(x);
  std::vector<bool> is_reduced(static_cast<std::size_t>(shape.rank()), false);
  for (const std::int64_t axis : axes) {
    if (axis < -shape.rank() || axis >= shape.rank()) return std::nullopt;
    is_reduced[static_cast<std::size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  }
  FixedProduct made;
  Integers kept;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_number()) return std::nullopt;
    const std::int64_t size = shape[axis].fixed();
    const bool is_reduced_axis = is_reduced[static_cast<std::size_t>(axis)];
    (is_reduced_axis ? made.perm : kept).push_back(axis);
    (is_reduced_axis ? made.terms : made.rest) *= size;
    if (!is_reduced_axis || keeps_dims) made.dims.emplace_back(is_reduced_axis ? 1 : size);
  }
  made.perm.insert(made.perm.end(), kept.begin(), kept.end());
  if (made.terms < 1 || made.terms > kMostFactors) return std::nullopt;
  return made;
}

ValueId read_reduce_prod(OperatorReader& in) {
  const auto* given = in.options<file::ReducerOptions>();
  const auto form = fixed_product(in, given != nullptr && given->keep_dims());
  if (!form) return read_reduce<ReduceKind::prod>(in);
  const QuantParams &from = *in.tensor(0).quant, &to = *in.output_tensor(0).quant;
  const ValueId first =
      in.reshape(transpose(in, in.stored(0), form->perm, "moved"), {form->terms, form->rest}, "terms");
  ValueId terms = in.cast(first, DType::s64, "wide");
  if (from.zero_point[0] != 0)
    terms = in.binary(BinaryKind::sub, terms,
                      in.constant(Tensor::scalar(std::int64_t{from.zero_point[0]}), "zero_point"), "from_zero");
  const double root = math_pow(static_cast<double>(to.scale[0]), 1.0 / static_cast<double>(form->terms));
  const FixedMultiplier factor = FixedMultiplier::of(static_cast<double>(from.scale[0]) / root);
  ValueId product = pick(in, terms, 0, Number(0), "term.0");
  for (std::int64_t i = 1; i < form->terms; ++i) {
    const std::string name = "term." + std::to_string(i);
    product = times_wide(in, in.binary(BinaryKind::mul, product, pick(in, terms, 0, Number(i), name), name + ".times"),
                         factor, name);
  }
  const ValueId y =
      saturated(in, times_wide(in, product, factor, "last"), to.zero_point[0], in.tensor(0).dtype, "result");
  return in.reshape(y, form->dims, "shaped");
}

// Whether any element, or every one, is true.
template <ReduceKind kind>
ValueId read_reduce_truth(OperatorReader& in) {
  const auto* given = in.options<file::ReducerOptions>();
  const ValueId numbers = in.cast(in.value(0), DType::s32, "numbers");
  const ValueId found = reduce(in,
                               {.x = numbers,
                                .kind = kind,
                                .axes = in.constant_integers(1, "axes"),
                                .keeps_dims = given != nullptr && given->keep_dims(),
                                .empty_is_all = false,
                                .may_repeat = true},
                               "found");
  return in.cast(found, DType::boolean);
}

// x / (bias + alpha * sum of squares of the channels up to `radius` away)^beta.
ValueId read_local_response_normalization(OperatorReader& in) {
  const auto& given = in.required_options<file::LocalResponseNormalizationOptions>();
  const ValueId x = in.value(0);
  in.require_rank(x, 4, 4);
  constexpr int kLimit = 1 << 20;
  if (given.radius() < 0 || given.radius() > kLimit)
    in.fail("option 'radius'", std::to_string(given.radius()), "0 to " + std::to_string(kLimit));
  if (in.failed()) return {};
  const std::int64_t size = 2 * std::int64_t{given.radius()} + 1;
  const LrnAttrs attrs{.size = size,
                       .alpha = given.alpha() * static_cast<float>(size),
                       .beta = given.beta(),
                       .bias = given.bias(),
                       .axis = 3};
  return in.add(kLrn, attrs, {x});
}

// Rows of x that belong to one segment, joined; the number of segments is known at compile time.
ValueId joined_segments(OperatorReader& in, const Dim& count, ScatterKind kind, double first) {
  const ValueId x = in.value(0), ids = in.stored(1);
  in.require_rank(ids, 1, 1);
  in.require_rank(x, 1, kMaxRank);
  if (in.failed()) return {};
  Extents dims = in.shape(x).to_vector();
  dims[0] = count;
  const ValueId start = expand(in, in.scalar_like(x, first, "first"), dims, "start");
  const ValueId lists = unsqueeze(in, ids, Integers{1}, "lists");
  return in.add(kScatterNd, ScatterNdAttrs{kind}, {start, lists, x});
}

ValueId read_segment_sum(OperatorReader& in) {
  const Numbers ids = in.constant_integers(1, "segment_ids");
  if (in.failed()) return {};
  constexpr std::int64_t kLimit = 1 << 24;
  std::int64_t last = -1;
  for (const std::int64_t id : ids) {
    if (id < std::max<std::int64_t>(last, 0) || id > kLimit)
      return in.fail(ids.place, print(ids.values), "numbers that do not fall, from 0 on");
    last = id;
  }
  return joined_segments(in, last + 1, ScatterKind::add, 0.0);
}

template <ScatterKind kind>
ValueId read_unsorted_segments(OperatorReader& in) {
  const ValueId x = in.value(0);
  const Number count = in.constant_integer(2, "num_segments");
  if (in.failed()) return {};
  if (count < 0) return in.fail(count.place, std::to_string(count.value), "a number from 0 on");
  const bool is_real = is_float(in.dtype(x));
  const double lowest =
      is_real ? -std::numeric_limits<float>::max() : static_cast<double>(range_of(in.dtype(x)).lowest);
  const double highest =
      is_real ? std::numeric_limits<float>::max() : static_cast<double>(range_of(in.dtype(x)).highest);
  constexpr bool is_max = kind == ScatterKind::max, is_min = kind == ScatterKind::min;
  return joined_segments(in, count.value, kind,
                         is_max                     ? lowest
                         : is_min                   ? highest
                         : kind == ScatterKind::mul ? 1.0
                                                    : 0.0);
}

ValueId read_log_softmax(OperatorReader& in) { return softmax(in, in.value(0), Number(-1), SoftmaxKind::log_softmax); }

template <ArgKind kind>
ValueId read_argmax(OperatorReader& in) {
  const ValueId x = in.value(0);
  const ValueId index = argmax(in, x, in.constant_integer(1, "axis"), {.kind = kind, .keep_dims = false}, "index");
  return in.cast(index, in.output_tensor(0).dtype);
}

ValueId read_cumsum(OperatorReader& in) {
  const auto* given = in.options<file::CumsumOptions>();
  const ValueId x = in.value(0);
  CumsumAttrs attrs{.axis = in.axis(in.constant_integer(1, "axis"), in.rank(x))};
  if (given != nullptr) attrs.exclusive = given->exclusive(), attrs.reverse = given->reverse();
  return in.add(kCumsum, attrs, {x});
}

// x / max(|x|, 1e-6) along the last axis.
ValueId read_l2_normalization(OperatorReader& in) {
  const auto* given = in.options<file::L2NormOptions>();
  const ValueId x = in.value(0);
  in.require_rank(x, 1, kMaxRank);
  const ValueId norm = reduce(in, {.x = x, .kind = ReduceKind::l2, .axes = Integers{-1}}, "norm");
  const ValueId bounded = in.binary(BinaryKind::max, norm, in.scalar(1e-6f, "epsilon"), "bounded");
  return in.activation(in.binary(BinaryKind::div, x, bounded),
                       given == nullptr ? 0 : given->fused_activation_function());
}

ValueId read_softmax(OperatorReader& in) {
  const float beta = in.required_options<file::SoftmaxOptions>().beta();
  const ValueId x = in.value(0);
  in.require_rank(x, 1, kMaxRank);
  return softmax(in, scaled(in, x, beta, "scaled"), -1);
}

constexpr OperatorEntry kReductionsTable[] = {
    {"ARG_MAX", 2, 2, 1, kReal, read_argmax<ArgKind::max>},
    {"ARG_MIN", 2, 2, 1, kReal, read_argmax<ArgKind::min>},
    {"BATCH_MATMUL", 2, 2, 1, kReal, read_batch_matmul},
    {"CUMSUM", 2, 2, 1, kReal, read_cumsum},
    {"L2_NORMALIZATION", 1, 1, 1, kReal, read_l2_normalization},
    {"LOCAL_RESPONSE_NORMALIZATION", 1, 1, 1, kReal, read_local_response_normalization},
    {"LOG_SOFTMAX", 1, 1, 1, kReal, read_log_softmax},
    {"MEAN", 2, 2, 1, kReal, read_reduce<ReduceKind::mean>},
    {"REDUCE_ALL", 2, 2, 1, kReal, read_reduce_truth<ReduceKind::min>},
    {"REDUCE_ANY", 2, 2, 1, kReal, read_reduce_truth<ReduceKind::max>},
    {"REDUCE_MAX", 2, 2, 1, kReal, read_reduce<ReduceKind::max>},
    {"REDUCE_MIN", 2, 2, 1, kReal, read_reduce<ReduceKind::min>},
    {"REDUCE_PROD", 2, 2, 1, kReal, read_reduce_prod},
    {"SEGMENT_SUM", 2, 2, 1, kReal, read_segment_sum},
    {"SOFTMAX", 1, 1, 1, kReal, read_softmax},
    {"SUM", 2, 2, 1, kReal, read_reduce<ReduceKind::sum>},
    {"UNSORTED_SEGMENT_MAX", 3, 3, 1, kReal, read_unsorted_segments<ScatterKind::max>},
    {"UNSORTED_SEGMENT_MIN", 3, 3, 1, kReal, read_unsorted_segments<ScatterKind::min>},
    {"UNSORTED_SEGMENT_PROD", 3, 3, 1, kReal, read_unsorted_segments<ScatterKind::mul>},
    {"UNSORTED_SEGMENT_SUM", 3, 3, 1, kReal, read_unsorted_segments<ScatterKind::add>},
};

}  // namespace

const std::span<const OperatorEntry> kReductions = kReductionsTable;

}  // namespace octavo::tflite_import
