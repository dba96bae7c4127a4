// quantized_pool: shape rule and reference. Part of ops/.
#include "ops/quantized_pool/quantized_pool.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/integers.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

// Each form belongs to some profiles, and integers have no use for scales.
Problem check_form(const QuantizedPoolAttrs& pool) {
  const bool is_tflite = pool.profile == Profile::tflite_xnnpack;
  const bool is_known = pool.form == QuantizedPoolForm::integer_average ? is_tflite || is_fixed_point(pool.profile)
                        : pool.form == QuantizedPoolForm::stored_sum
                            ? is_tflite
                            : pool.profile == Profile::onnx || pool.profile == Profile::pt2e;
  const auto is_large = [](std::int64_t size) { return size > 2048; };
  if (pool.form == QuantizedPoolForm::integer_average &&
      std::any_of(pool.window.kernel.begin(), pool.window.kernel.end(), is_large)) {
    return shape_error("window", print(pool.window.kernel), "at most 2048 elements along each axis");
  }
  if (is_known) return std::nullopt;
  return shape_error("profile", std::string(name_of(pool.profile)), "one that has " + std::string(name_of(pool.form)));
}

Problem check_attrs(const QuantizedPoolAttrs& pool, DType x) {
  const IntegerRange range = range_of(x);
  return first_of({check_range("x_zero_point", pool.x_zero_point, range.lowest, range.highest),
                   check_scale("x_scale", pool.x_scale), check_scale("y_scale", pool.y_scale),
                   check_clamp({.to = pool.to,
                                .zero_point = pool.zero_point,
                                .lowest = pool.lowest,
                                .highest = pool.highest,
                                .shift = pool.shift}),
                   check_finite("sum.multiplier", pool.sum.multiplier), check_finite("sum.offset", pool.sum.offset),
                   check_form(pool)});
}

// Global forms have one window: the image.
Problem check_global(const QuantizedPoolAttrs& pool, const Shape& x) {
  if (pool.form != QuantizedPoolForm::global_average_pool && pool.form != QuantizedPoolForm::stored_sum)
    return std::nullopt;
  if (pool.window == unit_window({x[1], x[2]})) return std::nullopt;
  return shape_error(
      "window", "a part of the image",
      "all of it (" + std::to_string(x[1]) + "x" + std::to_string(x[2]) + ") for " + std::string(name_of(pool.form)));
}

Result<std::vector<Fact>> infer_quantized_pool(const Attrs& attrs, InputFacts inputs) {
  const auto& pool = attrs.as<QuantizedPoolAttrs>();
  const Fact& x = *inputs[0];
  const Fact* table = fact_at(inputs, 1);
  if (auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 4, 4)})) return *problem;
  if (auto problem = first_of({check_attrs(pool, x.dtype), check_global(pool, x.shape)})) return *problem;
  if (table != nullptr) {
    if (auto problem = check_table(*table, {DType::u8, DType::s8})) return *problem;
  }
  auto dims = pool_dims(pool.window, x.shape, Layout::channels_last, pool.rounding);
  if (!dims) return std::move(dims).errors();
  return one_output(table != nullptr ? table->dtype : pool.to, *std::move(dims));
}

// Where one window reads: elements relative to the image's channel 0, and the number that divides.
struct Cover {
  const std::vector<Tap>& taps;
  std::int64_t count = 0;
};

std::int32_t exact_sum(const QuantizedPoolAttrs& pool, const ConstTensorView& x, std::int64_t first,
                       const Cover& cover) {
  std::uint32_t sum = 0;  // wraps where it leaves 32 bits
  for (const Tap& tap : cover.taps)
    sum += static_cast<std::uint32_t>(load_8bit(x.data, x.dtype, first + tap.image) - pool.x_zero_point);
  return static_cast<std::int32_t>(sum);
}

std::int32_t average(const QuantizedPoolAttrs& pool, const ConstTensorView& x, std::int64_t first, const Cover& cover) {
  if (pool.form == QuantizedPoolForm::global_average_pool) {
    const float multiplier = global_average_multiplier(pool.x_scale, pool.y_scale, cover.count);
    return requantize(exact_sum(pool, x, first, cover), multiplier, pool.zero_point, pool.lowest, pool.highest);
  }
  if (pool.form == QuantizedPoolForm::stored_sum)
    return pool.sum.apply(exact_sum(pool, x, first, cover), pool.lowest, pool.highest);
  if (pool.form == QuantizedPoolForm::integer_average) {
    const std::int32_t q = integer_average(exact_sum(pool, x, first, cover), static_cast<std::int32_t>(cover.count));
    return std::clamp(q, pool.lowest, pool.highest);
  }
  float sum = 0.0f;
  for (const Tap& tap : cover.taps)
    sum = average_pool_add(sum, load_8bit(x.data, x.dtype, first + tap.image) - pool.x_zero_point, pool.x_scale);
  return average_pool_value(sum, cover.count, pool.y_scale, pool.zero_point, pool.lowest, pool.highest);
}

void reference_quantized_pool(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& pool = attrs.as<QuantizedPoolAttrs>();
  const ConstTensorView& x = inputs[0];
  const Image image = Image::of(x.shape, Layout::channels_last);
  const Image result = Image::of(outputs[0].shape, Layout::channels_last);
  TapLister lister(pool.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t position = 0; position < result.positions(); ++position) {
    const std::vector<Tap>& taps = lister.at(position);
    const auto inside = static_cast<std::int64_t>(taps.size());
    const Cover cover{taps, pool.count_include_pad ? pool.window.kernel[0] * pool.window.kernel[1] : inside};
    for (std::int64_t n = 0; n < result.batch; ++n) {
      for (std::int64_t c = 0; c < result.channels; ++c) {
        const std::int32_t q = average(pool, x, n * image.batch_stride + c, cover) + pool.shift;
        const std::int64_t element = (n * result.positions() + position) * result.channels + c;
        store_8bit(outputs[0].data, element, q);
        if (has_view(inputs, 1)) outputs[0].data[element] = inputs[1].data[q & 0xff];
      }
    }
  }
}

}  // namespace

const OpSpec kQuantizedPool = {
    .name = "quantized_pool",
    .summary =
        "y = table[mean under the window]: average_pool_add and average_pool_value, or requantize(), "
        "integer_average() or StoredSumForm of the exact sum",
    .inputs = {"x", "table?"},
    .infer = infer_quantized_pool,
    .reference = reference_quantized_pool,
    .decode_attrs = decode_attrs_as<QuantizedPoolAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
};

template Attrs::Attrs(QuantizedPoolAttrs);

}  // namespace octavo
