// integer_resize: shape rule and reference. Part of ops/.
#include "ops/integer_resize/integer_resize.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_integer_resize(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  if (auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8, DType::s16}), check_rank("x", x, 4, 4),
                               check_range("shift", attrs.as<IntegerResizeAttrs>().shift, -128, 128)})) {
    return *problem;
  }
  if (x.shape[1] < 1 || x.shape[2] < 1) return shape_error("x", "shape " + x.shape.to_string(), "an image with pixels");
  for (const int axis : {0, 1}) {
    const auto taps = static_cast<std::size_t>(1 + 2 * axis);
    if (auto problem = first_of({check_dtype("rows or columns", *inputs[taps], {DType::s32}),
                                 check_rank("rows or columns", *inputs[taps], 2, 2),
                                 check_dtype("weights", *inputs[taps + 1], {DType::f32})})) {
      return *problem;
    }
    const std::int64_t size = inputs[taps]->shape[0];
    if (auto problem = first_of({check_shape("rows or columns", *inputs[taps], {size, 2}),
                                 check_shape("weights", *inputs[taps + 1], {size})}))
      return *problem;
  }
  return one_output(x.dtype, {x.shape[0], inputs[1]->shape[0], inputs[3]->shape[0], x.shape[3]}, x.quant);
}

void reference_integer_resize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& resize = attrs.as<IntegerResizeAttrs>();
  const Shape& from = inputs[0].shape;
  const Shape& to = outputs[0].shape;
  ResizeRow row{.columns = inputs[3].as<std::int32_t>(),
                .column_weights = inputs[4].as<float>(),
                .from_width = from[2],
                .width = to[2],
                .channels = from[3],
                .dtype = inputs[0].dtype};
  const auto element = static_cast<std::int64_t>(size_of(row.dtype));
  const std::int64_t stride = from[2] * from[3] * element;
  for (std::int64_t i = 0; i < to[0] * to[1]; ++i) {
    const std::int64_t line = i % to[1];
    const std::byte* image = inputs[0].data + i / to[1] * from[1] * stride;
    const auto at = [&](int k) {
      return std::clamp<std::int64_t>(inputs[1].as<std::int32_t>()[2 * line + k], 0, from[1] - 1);
    };
    row.first = image + at(0) * stride;
    row.second = image + at(1) * stride;
    row.weight = inputs[2].as<float>()[line];
    resize_row(resize, row, outputs[0].data + i * to[2] * to[3] * element);
  }
}

}  // namespace

namespace {

template <class Load, class Store>
void resize_row_by(const IntegerResizeAttrs& attrs, const ResizeRow& row, const Load& load, const Store& store) {
  const IntegerRange range = range_of(row.dtype);
  for (std::int64_t ow = 0; ow < row.width; ++ow) {
    const std::int64_t left = std::clamp<std::int64_t>(row.columns[2 * ow], 0, row.from_width - 1) * row.channels;
    const std::int64_t right = std::clamp<std::int64_t>(row.columns[2 * ow + 1], 0, row.from_width - 1) * row.channels;
    for (std::int64_t c = 0; c < row.channels; ++c) {
      const auto value = [&](const std::byte* line, std::int64_t at) { return load(line, at + c) - attrs.shift; };
      const FourValues values{
          {value(row.first, left), value(row.second, left), value(row.first, right), value(row.second, right)},
          row.weight,
          row.column_weights[ow]};
      const std::int64_t q = values.rounded(attrs.rounding) + attrs.shift;
      store(ow * row.channels + c, static_cast<std::int32_t>(std::clamp(q, range.lowest, range.highest)));
    }
  }
}

}  // namespace

void resize_row(const IntegerResizeAttrs& attrs, const ResizeRow& row, std::byte* y) {
  if (row.dtype == DType::s16) {
    const auto load = [](const std::byte* line, std::int64_t i) {
      return std::int32_t{reinterpret_cast<const std::int16_t*>(line)[i]};
    };
    const auto store = [y](std::int64_t i, std::int32_t q) {
      reinterpret_cast<std::int16_t*>(y)[i] = static_cast<std::int16_t>(q);
    };
    return resize_row_by(attrs, row, load, store);
  }
  resize_row_by(
      attrs, row, [&row](const std::byte* line, std::int64_t i) { return load_8bit(line, row.dtype, i); },
      [y](std::int64_t i, std::int32_t q) { store_8bit(y, i, q); });
}

namespace {

Attrs relabelled_resize(const Attrs& attrs, const std::vector<bool>& is_relabelled) {
  auto changed = attrs.as<IntegerResizeAttrs>();
  if (is_relabelled[0]) changed.shift += kSignShift;
  return changed;
}

}  // namespace

const OpSpec kIntegerResize = {
    .name = "integer_resize",
    .summary =
        "y = bilinear interpolation of bytes or s16 values with weights of 10, 11 or f32 bits, rounded as they say",
    .inputs = {"x", "rows", "row_weights", "columns", "column_weights"},
    .infer = infer_integer_resize,
    .reference = reference_integer_resize,
    .decode_attrs = decode_attrs_as<IntegerResizeAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
    .relabelled = relabelled_resize,
};

template Attrs::Attrs(IntegerResizeAttrs);

}  // namespace octavo
