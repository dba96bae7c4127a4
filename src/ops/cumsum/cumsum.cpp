// cumsum: shape rule and reference. Part of ops/.
#include "ops/cumsum/cumsum.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_cumsum(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  if (auto problem = check_range("axis", attrs.as<CumsumAttrs>().axis, 0, std::int64_t{x.shape.rank()} - 1))
    return *problem;
  if (!is_float(x.dtype)) {
    if (auto problem = check_dtype("x", x, {DType::s32, DType::u32, DType::s64, DType::u64})) return *problem;
  }
  return one_output(x.dtype, x.shape.to_vector());
}

// Calls join(element) for every element of every line in the order of its sum, after start().
template <class Start, class Join>
void walk_lines(const CumsumAttrs& cumsum, const Shape& shape, const Start& start, const Join& join) {
  const int axis = static_cast<int>(cumsum.axis);
  const std::int64_t count = shape[axis], inner = shape.elements(axis + 1, shape.rank());
  for (std::int64_t line = 0; count > 0 && line < shape.elements() / count; ++line) {
    start();
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t position = cumsum.reverse ? count - 1 - k : k;
      join((line / inner * count + position) * inner + line % inner);
    }
  }
}

template <class T>
void scan_integers(const CumsumAttrs& cumsum, const ConstTensorView& x, const TensorView& y) {
  const bool is_product = cumsum.kind == CumsumKind::product;
  T held = 0;  // unsigned: it wraps
  walk_lines(
      cumsum, x.shape, [&] { held = is_product ? 1 : 0; },
      [&](std::int64_t i) {
        if (cumsum.exclusive) y.as<T>()[i] = held;
        held = is_product ? held * x.as<T>()[i] : held + x.as<T>()[i];
        if (!cumsum.exclusive) y.as<T>()[i] = held;
      });
}

void scan_floats(const CumsumAttrs& cumsum, const ConstTensorView& x, const TensorView& y) {
  const bool is_product = cumsum.kind == CumsumKind::product;
  double held = 0.0;
  walk_lines(
      cumsum, x.shape, [&] { held = is_product ? 1.0 : 0.0; },
      [&](std::int64_t i) {
        if (cumsum.exclusive) store_double(y, i, held);
        held = is_product ? held * element_as_double(x, i) : held + element_as_double(x, i);
        if (!cumsum.exclusive) store_double(y, i, held);
      });
}

void reference_cumsum(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& cumsum = attrs.as<CumsumAttrs>();
  if (is_float(inputs[0].dtype)) scan_floats(cumsum, inputs[0], outputs[0]);
  else if (size_of(inputs[0].dtype) == 4) scan_integers<std::uint32_t>(cumsum, inputs[0], outputs[0]);
  else scan_integers<std::uint64_t>(cumsum, inputs[0], outputs[0]);
}

}  // namespace

const OpSpec kCumsum = {
    .name = "cumsum",
    .summary =
        "y[i] = sum or product of x[0..i] along an axis, with or without x[i], from either end; floats in f64, "
        "integers "
        "wrap",
    .inputs = {"x"},
    .infer = infer_cumsum,
    .reference = reference_cumsum,
    .decode_attrs = decode_attrs_as<CumsumAttrs>,
    .for_one_image = same_for_one_image_along_axis<CumsumAttrs>,
    .folds_at_import = true,
    .reordered = reordered_along_axis<CumsumAttrs>,
    .read_from = "ONNX CumSum; TFLite CUMSUM; ATen cumsum",
};

template Attrs::Attrs(CumsumAttrs);

}  // namespace octavo
