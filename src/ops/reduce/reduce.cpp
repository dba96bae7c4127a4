// reduce: shape rule and reference. Part of ops/.
#include "ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/elementary.h"
#include "base/math.h"
#include "base/partial_sums.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/reduce/fold_integers.h"
#include "ops/traits.h"

namespace octavo {
namespace {

bool is_for_integers(ReduceKind kind) {
  return kind != ReduceKind::l2 && kind != ReduceKind::log_sum && kind != ReduceKind::log_sum_exp;
}

bool is_reduced(const ReduceAttrs& reduce, int axis) {
  return std::binary_search(reduce.axes.begin(), reduce.axes.end(), axis);
}

Problem check_axes(const std::vector<std::int64_t>& axes, int rank) {
  std::int64_t previous = -1;
  for (std::int64_t axis : axes) {
    if (auto problem = check_range("axes", axis, previous + 1, std::int64_t{rank} - 1)) return problem;
    previous = axis;
  }
  return std::nullopt;
}

Result<std::vector<Fact>> infer_reduce(const Attrs& attrs, InputFacts inputs) {
  const auto& reduce = attrs.as<ReduceAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = check_axes(reduce.axes, x.shape.rank())) return *problem;
  if (!is_float(x.dtype)) {
    if (!is_for_integers(reduce.kind))
      return shape_error("x", "type " + std::string(name_of(x.dtype)),
                         "a float for " + std::string(name_of(reduce.kind)));
    const bool may_be_narrow = is_extreme(reduce.kind) && (is_8bit(x.dtype) || x.dtype == DType::boolean);
    if (!may_be_narrow) {
      if (auto problem = check_dtype("x", x, {DType::s32, DType::u32, DType::s64, DType::u64})) return *problem;
    }
  }
  std::vector<Dim> dims;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    if (!is_reduced(reduce, axis)) dims.push_back(x.shape[axis]);
    else if (reduce.keep_dims) dims.push_back(1);
  }
  return one_output(x.dtype, std::move(dims), is_extreme(reduce.kind) ? x.quant : std::nullopt);
}

// Row-major element numbers of the kept axes and, relative to those, of the reduced axes.
struct Offsets {
  std::vector<std::int64_t> kept{0};
  std::vector<std::int64_t> reduced{0};
};
Offsets offsets_of(const ReduceAttrs& reduce, const Shape& shape) {
  Offsets offsets;
  const auto strides = shape.strides();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    auto& list = is_reduced(reduce, axis) ? offsets.reduced : offsets.kept;
    std::vector<std::int64_t> longer;
    for (std::int64_t base : list) {
      for (std::int64_t i = 0; i < shape[axis]; ++i)
        longer.push_back(base + i * strides[static_cast<std::size_t>(axis)]);
    }
    list = std::move(longer);
  }
  return offsets;
}

double larger_or_nan(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller_or_nan(double a, double b) { return std::isnan(a) || a < b ? a : b; }

double start_of(ReduceKind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::prod: return 1.0;
    case ReduceKind::max: return -infinity;
    case ReduceKind::min: return infinity;
    default: return 0.0;
  }
}

// Every element of one line once, in row-major order.
template <class Get>
double fold_floats(ReduceKind kind, std::int64_t count, const Get& at) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = -infinity;
  if (kind == ReduceKind::log_sum_exp) {
    for (std::int64_t i = 0; i < count; ++i) largest = larger_or_nan(at(i), largest);
    if (std::isinf(largest)) return largest;
  }
  double result = start_of(kind);
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = at(i);
    switch (kind) {
      case ReduceKind::sum:
      case ReduceKind::mean:
      case ReduceKind::log_sum: result += x; break;
      case ReduceKind::max: result = larger_or_nan(x, result); break;
      case ReduceKind::min: result = smaller_or_nan(x, result); break;
      case ReduceKind::prod: result *= x; break;
      case ReduceKind::l1: result += std::fabs(x); break;
      case ReduceKind::l2:
      case ReduceKind::sum_square: result += x * x; break;
      case ReduceKind::log_sum_exp: result += math_exp(x - largest); break;
    }
  }
  switch (kind) {
    case ReduceKind::mean: return result / static_cast<double>(count);
    case ReduceKind::l2: return std::sqrt(result);
    case ReduceKind::log_sum: return math_log(result);
    case ReduceKind::log_sum_exp: return math_log(result) + largest;
    default: return result;
  }
}

// f32: see reduce.h.
template <class Get>
float fold_f32(ReduceKind kind, std::int64_t count, const Get& at) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = -infinity;
  if (kind == ReduceKind::log_sum_exp) {
    for (std::int64_t i = 0; i < count; ++i) largest = larger_or_nan(at(i), largest);
    if (std::isinf(largest)) return static_cast<float>(largest);
  }
  const auto join = [kind](double state, double value) {
    switch (kind) {
      case ReduceKind::max: return larger_or_nan(value, state);
      case ReduceKind::min: return smaller_or_nan(value, state);
      case ReduceKind::prod: return state * value;
      default: return state + value;
    }
  };
  const auto term = [kind, largest](float x) -> double {
    const double wide = x;
    switch (kind) {
      case ReduceKind::l1: return std::fabs(wide);
      case ReduceKind::l2:
      case ReduceKind::sum_square: return wide * wide;
      case ReduceKind::log_sum_exp: return exp_weight_f32<Lane>(x - static_cast<float>(largest));
      default: return wide;
    }
  };
  double parts[kPartialSums];
  std::fill_n(parts, kPartialSums, start_of(kind));
  for (std::int64_t i = 0; i < count; ++i) {
    double& part = parts[i % kPartialSums];
    part = join(part, term(at(i)));
  }
  const double total = joined(parts, join);
  switch (kind) {
    case ReduceKind::mean: return static_cast<float>(total / static_cast<double>(count));
    case ReduceKind::l2: return static_cast<float>(std::sqrt(total));
    case ReduceKind::log_sum: return log_f32<Lane>(static_cast<float>(total));
    case ReduceKind::log_sum_exp: return log_f32<Lane>(static_cast<float>(total)) + static_cast<float>(largest);
    default: return static_cast<float>(total);
  }
}

template <class T, class Get>
void store_integer_result(const ReduceLine& line, const TensorView& y, std::int64_t i, const Get& index_of) {
  const auto at = [&](std::int64_t k) { return line.x.as<T>()[index_of(k)]; };
  y.as<T>()[i] = fold_integers<T>(line.kind, std::ssize(line.elements), at);
}

void reference_reduce(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& reduce = attrs.as<ReduceAttrs>();
  const Offsets offsets = offsets_of(reduce, inputs[0].shape);
  for (std::size_t i = 0; i < offsets.kept.size(); ++i)
    reduce_line({reduce.kind, inputs[0], offsets.kept[i], offsets.reduced}, outputs[0], static_cast<std::int64_t>(i));
}

std::optional<Attrs> one_image_of_reduce(const Attrs& attrs, InputFacts) {
  const auto& axes = attrs.as<ReduceAttrs>().axes;
  if (!axes.empty() && axes.front() == 0) return std::nullopt;
  return attrs;
}

Elements elements_of_reduce(const Attrs& attrs) {
  const ReduceKind kind = attrs.as<ReduceAttrs>().kind;
  return kind == ReduceKind::max || kind == ReduceKind::min ? Elements::selected : Elements::computed;
}

std::optional<Reordered> reordered_reduce(const Attrs& attrs, InputFacts, const Axes& axes) {
  auto changed = attrs.as<ReduceAttrs>();
  const Axes kept = changed.keep_dims ? axes : without_axes(axes, changed.axes);
  for (std::int64_t& axis : changed.axes) axis = axes[static_cast<std::size_t>(axis)];
  std::sort(changed.axes.begin(), changed.axes.end());
  return Reordered{changed, kept};
}

NodeRole role_of_reduce(const Attrs& attrs, InputFacts inputs) {
  const auto& reduce = attrs.as<ReduceAttrs>();
  const bool is_spatial_mean =
      reduce.kind == ReduceKind::mean && inputs[0]->shape.rank() == 4 && reduce.axes == std::vector<std::int64_t>{2, 3};
  if (is_spatial_mean) return {Role::kernel, {}};
  return stays_floating("no integer form of " + std::string(name_of(reduce.kind)) + " over these axes");
}

}  // namespace

void reduce_line(const ReduceLine& line, const TensorView& y, std::int64_t i) {
  const std::int64_t count = std::ssize(line.elements);
  const auto index_of = [&](std::int64_t k) { return line.first + line.elements[static_cast<std::size_t>(k)]; };
  switch (line.x.dtype) {
    case DType::boolean:
    case DType::u8: return store_integer_result<std::uint8_t>(line, y, i, index_of);
    case DType::s8: return store_integer_result<std::int8_t>(line, y, i, index_of);
    case DType::u32: return store_integer_result<std::uint32_t>(line, y, i, index_of);
    case DType::s32: return store_integer_result<std::int32_t>(line, y, i, index_of);
    case DType::u64: return store_integer_result<std::uint64_t>(line, y, i, index_of);
    case DType::s64: return store_integer_result<std::int64_t>(line, y, i, index_of);
    case DType::f32:
      y.as<float>()[i] = fold_f32(line.kind, count, [&](std::int64_t k) { return line.x.as<float>()[index_of(k)]; });
      return;
    default:
      store_double(
          y, i, fold_floats(line.kind, count, [&](std::int64_t k) { return element_as_double(line.x, index_of(k)); }));
  }
}

const OpSpec kReduce = {
    .name = "reduce",
    .summary =
        "y = sum, mean, max, min, prod, l1, l2, sum_square, log_sum or log_sum_exp over axes; sums of floats in f64, "
        "integers wrap",
    .inputs = {"x"},
    .infer = infer_reduce,
    .reference = reference_reduce,
    .decode_attrs = decode_attrs_as<ReduceAttrs>,
    .for_one_image = one_image_of_reduce,
    .elements = elements_of_reduce,
    .folds_at_import = true,
    .reordered = reordered_reduce,
    .role = role_of_reduce,
    .read_from = "ONNX ReduceMean; TFLite MEAN; ATen mean",
    .integer_form = "itself for max and min; quantized_pool",
};

template Attrs::Attrs(ReduceAttrs);

}  // namespace octavo
