// quantized_conv: shape rule and reference. Part of ops/.
#include "ops/quantized_conv/quantized_conv.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

bool is_after_rounding(Residual residual) {
  return residual == Residual::after_rounding_conv_first || residual == Residual::after_rounding_conv_second;
}

ConvShapes shapes_of(const QuantizedConvAttrs& conv) {
  return {.window = conv.window, .groups = conv.groups, .layout = Layout::channels_last};
}

Problem check_present(std::string_view what, const Fact* fact, bool is_wanted) {
  if ((fact != nullptr) == is_wanted) return std::nullopt;
  return shape_error(std::string(what), fact != nullptr ? "one" : "none",
                     is_wanted ? "one" : "none with these attributes");
}

Problem check_residual(const QuantizedConvAttrs& conv, const Fact& residual, const Shape& y) {
  const auto problem =
      first_of({check_dtype("residual", residual, {DType::u8, DType::s8}), check_shape("residual", residual, y)});
  if (problem) return problem;
  if (conv.residual == Residual::after_rounding_integer) {
    return first_of(
        {check_clamp(
             {.to = conv.to, .zero_point = conv.add_lowest, .lowest = conv.add_lowest, .highest = conv.add_highest}),
         check_integer_add(conv.integer_add)});
  }
  if (!is_after_rounding(conv.residual)) {
    const IntegerRange range = range_of(residual.dtype);
    return first_of({check_range("residual_zero_point", conv.residual_zero_point, range.lowest, range.highest),
                     check_finite("residual_ratio", conv.residual_ratio)});
  }
  return first_of({check_clamp({.to = conv.to,
                                .zero_point = conv.add_lowest,
                                .lowest = conv.add_lowest,
                                .highest = conv.add_highest,
                                .shift = conv.add.shift}),
                   check_finite("add.a_ratio", conv.add.a_ratio), check_finite("add.b_ratio", conv.add.b_ratio),
                   check_finite("add.fixed", conv.add.fixed)});
}

// What follows the accumulators: multiplier, residual and table.
Problem check_epilogue(const QuantizedConvAttrs& conv, InputFacts inputs, const Shape& y) {
  const bool is_8bit_result = is_8bit(conv.to);
  const Fact* multiplier = fact_at(inputs, kConvMultiplier);
  const Fact* residual = fact_at(inputs, kConvResidual);
  const Fact* table = fact_at(inputs, kConvTable);
  if (!is_8bit_result && conv.to != DType::s32 && conv.to != DType::f32)
    return shape_error("to", std::string(name_of(conv.to)), "u8, s8, s32 or f32");
  if (!is_8bit_result && conv.residual != Residual::none)
    return shape_error("residual", std::string(name_of(conv.residual)), "none with this result type");
  const auto wrong = first_of({check_present("multiplier", multiplier, conv.to != DType::s32),
                               check_present("residual", residual, conv.residual != Residual::none),
                               is_8bit_result ? std::nullopt : check_present("table", table, false)});
  if (wrong) return wrong;
  if (is_8bit_result) {
    if (auto problem =
            check_clamp({.to = conv.to, .zero_point = conv.zero_point, .lowest = conv.lowest, .highest = conv.highest}))
      return problem;
  }
  if (multiplier != nullptr) {
    const auto problem = first_of(
        {check_dtype("multiplier", *multiplier, {DType::f32}), check_shape("multiplier", *multiplier, {y[3]})});
    if (problem) return problem;
  }
  if (residual != nullptr) {
    if (auto problem = check_residual(conv, *residual, y)) return problem;
  }
  if (const Fact* rest = fact_at(inputs, kConvBiasRest)) {
    const auto problem =
        first_of({conv.to == DType::s32 ? check_present("bias_rest", rest, false) : std::nullopt,
                  check_dtype("bias_rest", *rest, {DType::f32}), check_shape("bias_rest", *rest, {y[3]})});
    if (problem) return problem;
  }
  return table != nullptr ? check_table(*table, {DType::u8, DType::s8}) : std::nullopt;
}

Result<std::vector<Fact>> infer_quantized_conv(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<QuantizedConvAttrs>();
  const Fact& x = *inputs[kConvX];
  const Fact& w = *inputs[kConvW];
  const Fact& bias = *inputs[kConvBias];
  const auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 4, 4),
                                 check_dtype("w", w, {DType::s8}), check_convolution_profile(conv.profile)});
  if (problem) return *problem;
  const IntegerRange range = range_of(x.dtype);
  if (auto wrong = check_range("x_zero_point", conv.x_zero_point, range.lowest, range.highest)) return *wrong;
  auto dims = conv_dims(shapes_of(conv), x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (!checked_elements(*dims)) return one_output(conv.to, *std::move(dims));
  if (auto wrong = first_of({check_dtype("bias", bias, {DType::s32}), check_shape("bias", bias, {w.shape[0]})}))
    return *wrong;
  if (const Fact* offset = fact_at(inputs, kConvOffset)) {
    if (auto wrong =
            first_of({check_dtype("w_offset", *offset, {DType::s32}), check_shape("w_offset", *offset, {w.shape[0]})}))
      return *wrong;
  }
  if (auto wrong = check_epilogue(conv, inputs, Shape(*dims))) return *wrong;
  const Fact* table = fact_at(inputs, kConvTable);
  return one_output(table != nullptr ? table->dtype : conv.to, *std::move(dims));
}

// The operands of one output element's epilogue.
struct Epilogue {
  const QuantizedConvAttrs& conv;
  InputViews inputs;
  TensorView y;

  float sum(std::int32_t acc, std::int64_t oc) const {
    const auto whole = static_cast<float>(acc);
    return has_view(inputs, kConvBiasRest) ? whole + inputs[kConvBiasRest].as<float>()[oc] : whole;
  }

  std::int32_t requantized(float acc, std::int64_t oc, std::int64_t element) const {
    const float multiplier = inputs[kConvMultiplier].as<float>()[oc];
    if (conv.residual == Residual::none)
      return requantize_real(acc, multiplier, conv.zero_point, conv.lowest, conv.highest);
    const std::int32_t r = load_8bit(inputs[kConvResidual].data, inputs[kConvResidual].dtype, element);
    if (conv.residual == Residual::before_rounding) {
      return requantize_with_residual(acc, multiplier, r - conv.residual_zero_point, conv.residual_ratio,
                                      conv.zero_point, conv.lowest, conv.highest);
    }
    const std::int32_t q = requantize_real(acc, multiplier, conv.zero_point, conv.lowest, conv.highest);
    if (conv.residual == Residual::after_rounding_integer)
      return conv.integer_add.apply(q, r, conv.add_lowest, conv.add_highest);
    if (conv.residual == Residual::after_rounding_conv_first)
      return conv.add.apply(q, r, conv.add_lowest, conv.add_highest);
    return conv.add.apply(r, q, conv.add_lowest, conv.add_highest);
  }

  void store(std::int32_t acc, std::int64_t oc, std::int64_t element) const {
    if (conv.to == DType::s32) {
      y.as<std::int32_t>()[element] = acc;
    } else if (conv.to == DType::f32) {
      y.as<float>()[element] = sum(acc, oc) * inputs[kConvMultiplier].as<float>()[oc];
    } else {
      const std::int32_t q = requantized(sum(acc, oc), oc, element);
      if (has_view(inputs, kConvTable)) y.data[element] = inputs[kConvTable].data[q & 0xff];
      else store_8bit(y.data, element, q);
    }
  }
};

// Wraps where it leaves 32 bits.
template <class X>
std::uint32_t dot(const X* x, const std::int8_t* w, std::uint32_t w_offset, std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<std::uint32_t>(x[i]) * (static_cast<std::uint32_t>(w[i]) + w_offset);
  return sum;
}

template <class X>
void convolve(const Epilogue& epilogue, InputViews inputs, const QuantizedConvAttrs& conv) {
  const Image image = Image::of(inputs[kConvX].shape, Layout::channels_last);
  const Image result = Image::of(epilogue.y.shape, Layout::channels_last);
  const std::int64_t depth = inputs[kConvW].shape[3];  // channels per group
  const std::int64_t kernel_size = conv.window.kernel[0] * conv.window.kernel[1] * depth;
  const std::int64_t group_size = result.channels / conv.groups;
  const std::vector<X> padding(static_cast<std::size_t>(image.channels), static_cast<X>(conv.x_zero_point));
  TapLister lister(conv.window, image, result.sizes, TapLister::Outside::list);
  std::vector<const X*> rows;  // where each tap reads x
  for (std::int64_t n = 0; n < result.batch; ++n) {
    const X* x = inputs[kConvX].as<X>() + n * image.batch_stride;
    for (std::int64_t position = 0; position < result.positions(); ++position) {
      rows.clear();
      for (const Tap& tap : lister.at(position)) rows.push_back(tap.is_inside ? x + tap.image : padding.data());
      for (std::int64_t oc = 0; oc < result.channels; ++oc) {
        const std::int64_t first_channel = oc / group_size * depth;
        const std::int8_t* w = inputs[kConvW].as<std::int8_t>() + oc * kernel_size;
        const auto w_offset =
            has_view(inputs, kConvOffset) ? static_cast<std::uint32_t>(inputs[kConvOffset].as<std::int32_t>()[oc]) : 0u;
        auto acc = static_cast<std::uint32_t>(inputs[kConvBias].as<std::int32_t>()[oc]);
        for (const X* row : rows) {
          acc += dot(row + first_channel, w, w_offset, depth);
          w += depth;
        }
        epilogue.store(static_cast<std::int32_t>(acc), oc, (n * result.positions() + position) * result.channels + oc);
      }
    }
  }
}

void reference_quantized_conv(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<QuantizedConvAttrs>();
  const Epilogue epilogue{conv, inputs, outputs[0]};
  if (inputs[kConvX].dtype == DType::u8) convolve<std::uint8_t>(epilogue, inputs, conv);
  else convolve<std::int8_t>(epilogue, inputs, conv);
}

}  // namespace

const OpSpec kQuantizedConv = {
    .name = "quantized_conv",
    .summary =
        "acc = bias + sum of x * (w + w_offset) in s32; y = table[requantize(acc + bias_rest) with a residual before "
        "or after the rounding], or "
        "acc, or f32(acc + bias_rest) * multiplier",
    .inputs = {"x", "w", "bias", "multiplier?", "residual?", "table?", "w_offset?", "bias_rest?"},
    .infer = infer_quantized_conv,
    .reference = reference_quantized_conv,
    .decode_attrs = decode_attrs_as<QuantizedConvAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
    .depth = depth_of_weights,
};

template Attrs::Attrs(QuantizedConvAttrs);

}  // namespace octavo
