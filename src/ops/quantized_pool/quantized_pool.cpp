// quantized_pool: shape rule and reference. Part of ops/.
#include "ops/quantized_pool/quantized_pool.h"

#include "ops/image.h"
#include "ops/integers.h"

namespace octavo {
namespace {

Problem check_attrs(const QuantizedPoolAttrs& pool, DType x) {
  const IntegerRange range = range_of(x);
  return first_of({check_range("x_zero_point", pool.x_zero_point, range.lowest, range.highest), check_scale("x_scale", pool.x_scale),
                   check_scale("y_scale", pool.y_scale),
                   check_clamp({.to = pool.to, .zero_point = pool.zero_point, .lowest = pool.lowest, .highest = pool.highest, .shift = pool.shift}),
                   pool.profile == Profile::onnx ? std::nullopt : Problem(shape_error("profile", std::string(name_of(pool.profile)), "onnx"))});
}

// The global form has one window: the image.
Problem check_global(const QuantizedPoolAttrs& pool, const Shape& x) {
  if (pool.form != QuantizedPoolForm::global_average_pool) return std::nullopt;
  if (pool.window == unit_window({x[1], x[2]})) return std::nullopt;
  return shape_error("window", "a part of the image",
                     "all of it (" + std::to_string(x[1]) + "x" + std::to_string(x[2]) + ") for global_average_pool");
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

std::int32_t average(const QuantizedPoolAttrs& pool, std::int64_t sum, std::int64_t count) {
  if (pool.form == QuantizedPoolForm::global_average_pool) {
    return requantize(static_cast<std::int32_t>(sum), global_average_multiplier(pool.x_scale, pool.y_scale, count), pool.zero_point, pool.lowest,
                      pool.highest);
  }
  return average_pool_value(static_cast<std::int32_t>(sum), count, pool.x_scale, pool.y_scale, pool.zero_point, pool.lowest, pool.highest);
}

void reference_quantized_pool(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& pool = attrs.as<QuantizedPoolAttrs>();
  const ConstTensorView& x = inputs[0];
  const Image image = Image::of(x.shape, Layout::channels_last);
  const Image result = Image::of(outputs[0].shape, Layout::channels_last);
  TapLister lister(pool.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t position = 0; position < result.positions(); ++position) {
    const std::vector<Tap>& taps = lister.at(position);
    const auto inside = static_cast<std::int64_t>(taps.size());
    const std::int64_t count = pool.count_include_pad ? lister.inside_padded() : inside;
    for (std::int64_t n = 0; n < result.batch; ++n) {
      for (std::int64_t c = 0; c < result.channels; ++c) {
        std::int64_t sum = -inside * pool.x_zero_point;
        for (const Tap& tap : taps) sum += load_8bit(x.data, x.dtype, n * image.batch_stride + tap.image + c);
        const std::int64_t element = (n * result.positions() + position) * result.channels + c;
        const std::int32_t q = average(pool, sum, count) + pool.shift;
        store_8bit(outputs[0].data, element, q);
        if (has_view(inputs, 1)) outputs[0].data[element] = inputs[1].data[q & 0xff];
      }
    }
  }
}

}  // namespace

const OpSpec kQuantizedPool = {
    .name = "quantized_pool",
    .summary = "y = table[mean under the window], from the exact s32 sum of x - x_zp (average_pool_value, global_average_multiplier)",
    .inputs = {"x", "table?"},
    .infer = infer_quantized_pool,
    .reference = reference_quantized_pool,
    .decode_attrs = decode_attrs_as<QuantizedPoolAttrs>,
};

}  // namespace octavo
