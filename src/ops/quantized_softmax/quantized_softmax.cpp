// quantized_softmax: shape rule and reference. Part of ops/.
#include "ops/quantized_softmax/quantized_softmax.h"

#include <algorithm>

#include "base/fixed_point.h"
#include "base/interpolated.h"
#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Problem check_profile(Profile profile) {
  if (profile != Profile::pt2e && is_of_whole_files(profile)) return std::nullopt;
  return shape_error("profile", std::string(name_of(profile)), "onnx, tflite-xnnpack, tflite-double or tflite-single");
}

// What the exponentials of one line become.
struct LineValue {
  const QuantizedSoftmaxAttrs& softmax;
  float sum;

  std::int32_t of(float exponential) const {
    const IntegerRange range = range_of(softmax.to);
    const auto lowest = static_cast<std::int32_t>(range.lowest), highest = static_cast<std::int32_t>(range.highest);
    if (softmax.profile == Profile::onnx)
      return softmax_value(exponential, sum, softmax_inverse_scale(softmax.y_scale), softmax.zero_point, lowest,
                           highest);
    return tflite_softmax_value(exponential, tflite_softmax_factor(sum, softmax.y_scale), softmax.zero_point, lowest,
                                highest);
  }
};

Result<std::vector<Fact>> infer_quantized_softmax(const Attrs& attrs, InputFacts inputs) {
  const auto& softmax = attrs.as<QuantizedSoftmaxAttrs>();
  const Fact& x = *inputs[0];
  const Fact* const exponentials = inputs.size() > 1 ? inputs[1] : nullptr;
  const bool is_s16 = softmax.to == DType::s16;
  if (!is_8bit(softmax.to) && !is_s16) return shape_error("to", std::string(name_of(softmax.to)), "u8, s8 or s16");
  const IntegerRange range = range_of(softmax.to);
  const auto check_exponentials = [&]() -> Problem {
    if (softmax.makes_exponentials())
      return exponentials == nullptr ? check_scale("x_scale", softmax.x_scale)
                                     : shape_error("exponentials", "a table", "none beside an x_scale");
    if (exponentials == nullptr) return shape_error("exponentials", "none", "a table");
    if (!is_s16) return check_table(*exponentials, {DType::s32});
    return first_of({check_dtype("exponentials", *exponentials, {DType::s16}),
                     check_shape("exponentials", *exponentials, OpenShape{1 << 16})});
  };
  const auto check_x = [&] {
    return is_s16 ? check_dtype("x", x, {DType::s16}) : check_dtype("x", x, {DType::u8, DType::s8});
  };
  const auto problem = first_of({check_x(), check_rank("x", x, 1, 64), check_exponentials(),
                                 check_range("zero_point", softmax.zero_point, range.lowest, range.highest),
                                 check_scale("y_scale", softmax.y_scale), check_profile(softmax.profile)});
  if (problem) return *problem;
  return one_output(softmax.to, x.shape.to_vector());
}

// The largest value of a line.
std::int32_t quantized_softmax_largest_of(const ConstTensorView& x, std::int64_t first, std::int64_t length) {
  std::int32_t largest = -128;
  for (std::int64_t i = 0; i < length; ++i) largest = std::max(largest, load_8bit(x.data, x.dtype, first + i));
  return largest;
}

// Shares of 256, from the lowest value of the type on.
void fixed_line(const QuantizedSoftmaxAttrs& softmax, InputViews inputs, std::int64_t first, std::int64_t length,
                std::byte* y) {
  const ConstTensorView& x = inputs[0];
  const std::int32_t largest = quantized_softmax_largest_of(x, first, length);
  const auto exponential = [&](std::int64_t i) {
    return inputs[1].as<std::int32_t>()[255 - (largest - load_8bit(x.data, x.dtype, first + i))];
  };
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < length; ++i) sum += static_cast<std::uint32_t>(fixed_softmax_term(exponential(i)));
  const FixedReciprocal reciprocal = FixedReciprocal::of(static_cast<std::int32_t>(sum));
  const auto lowest = static_cast<std::int32_t>(range_of(softmax.to).lowest);
  for (std::int64_t i = 0; i < length; ++i)
    store_8bit(y, first + i, lowest + std::clamp(reciprocal.share(exponential(i)), 0, 255));
}

// Of s16; the sum wraps in 32 bits.
void interpolated_line(InputViews inputs, std::int64_t first, std::int64_t length, std::byte* result) {
  const auto* x = inputs[0].as<std::int16_t>() + first;
  auto* y = reinterpret_cast<std::int16_t*>(result) + first;
  const std::int32_t largest = *std::max_element(x, x + length);
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    y[i] = inputs[1].as<std::int16_t>()[largest - x[i]];
    sum += static_cast<std::uint32_t>(std::int32_t{y[i]});
  }
  const InterpolatedReciprocal reciprocal = InterpolatedReciprocal::of(static_cast<std::int32_t>(sum));
  for (std::int64_t i = 0; i < length; ++i) y[i] = reciprocal.share(y[i]);
}

void reference_quantized_softmax(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& softmax = attrs.as<QuantizedSoftmaxAttrs>();
  const ConstTensorView& x = inputs[0];
  const std::int64_t length = x.shape[x.shape.rank() - 1];
  const Tensor made = softmax.makes_exponentials() ? softmax_exponentials(softmax, length) : Tensor();
  const std::int64_t lines = length == 0 ? 0 : x.shape.elements() / length;
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t first = line * length;
    if (softmax.to == DType::s16) {
      interpolated_line(inputs, first, length, outputs[0].data);
      continue;
    }
    if (is_fixed_point(softmax.profile)) {
      fixed_line(softmax, inputs, first, length, outputs[0].data);
      continue;
    }
    const std::int32_t largest = quantized_softmax_largest_of(x, first, length);
    const auto exponential = [&](std::int64_t i) {
      return made.as<float>()[255 - (largest - load_8bit(x.data, x.dtype, first + i))];
    };
    float sum = 0.0f;
    for (std::int64_t i = 0; i < length; ++i) sum += exponential(i);
    const LineValue value{softmax, sum};
    for (std::int64_t i = 0; i < length; ++i) store_8bit(outputs[0].data, first + i, value.of(exponential(i)));
  }
}

Attrs relabelled_softmax(const Attrs& attrs, const std::vector<bool>&) {
  auto changed = attrs.as<QuantizedSoftmaxAttrs>();
  if (changed.to == DType::s8) changed.to = DType::u8, changed.zero_point += kSignShift;
  return changed;
}

}  // namespace

Tensor softmax_exponentials(const QuantizedSoftmaxAttrs& attrs, std::int64_t length) {
  Tensor table(DType::f32, Shape{256});
  for (int i = 0; i < 256; ++i) {
    table.as<float>()[i] = attrs.profile == Profile::onnx ? softmax_exponential(i, attrs.x_scale, length)
                                                          : tflite_softmax_exponential(i, attrs.x_scale);
  }
  return table;
}

const OpSpec kQuantizedSoftmax = {
    .name = "quantized_softmax",
    .summary =
        "y = softmax_value or tflite_softmax_value(e[255 - (max - x)], sum of e in f32, in order), along the last axis",
    .inputs = {"x", "exponentials?"},
    .infer = infer_quantized_softmax,
    .reference = reference_quantized_softmax,
    .decode_attrs = decode_attrs_as<QuantizedSoftmaxAttrs>,
    .for_one_image = same_for_one_image_along_last_axis,
    .is_integer = true,
    .relabelled = relabelled_softmax,
};

template Attrs::Attrs(QuantizedSoftmaxAttrs);

}  // namespace octavo
