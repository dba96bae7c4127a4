// The one rule book of rounding: every reference and every kernel takes its formulas from here. Part of base/.
// All arithmetic is f32, in the order written, never contracted (the build sets -ffp-contract=off). What devices
// compute, too, is constexpr and calls built-in functions only (cuda/device/platform.h).
#ifndef OCTAVO_BASE_REQUANTIZE_H_
#define OCTAVO_BASE_REQUANTIZE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "base/dtype.h"
#include "base/fields.h"
#include "base/math.h"
#include "octavo/choices.h"

namespace octavo {

// Round to nearest, ties to even. Needs the default rounding mode, which a run guarantees on each of its threads.
constexpr float round_even(float x) { return __builtin_nearbyintf(x); }

constexpr float clamp_f32(float x, float lowest, float highest) {
  // In this order NaN becomes `lowest`, as maxps/minps with the bound as first operand make it.
  const float raised = x > lowest ? x : lowest;
  return raised < highest ? raised : highest;
}

// Zero point after rounding: rne(x) + zp, saturated to [lowest, highest]. Convolution, matmul, mean and quantize.
// The clamp comes before the rounding so that no float-to-integer conversion can overflow; the result is the same.
constexpr std::int32_t round_then_zero_point(float x, std::int32_t zero_point, std::int32_t lowest,
                                             std::int32_t highest) {
  const float clamped = clamp_f32(x, static_cast<float>(lowest - zero_point), static_cast<float>(highest - zero_point));
  return static_cast<std::int32_t>(round_even(clamped)) + zero_point;
}

// Convolution and matmul, profile onnx: acc is the exact s32 sum with the bias in it; multiplier = (x_scale * w_scale)
// / y_scale, in f32; round_then_zero_point(f32(acc) * multiplier). Profile pt2e: f32(acc) + what the program's f32 bias
// is more than the whole units of x_scale * w_scale in acc. The additive and pooling operators of the `onnx` profile
// add the zero point before the rounding: rne(x + zp). Stages of ops/epilogue.h are what computes all of it.

// y = a + b on quantized values, profile onnx (QLinearAdd; measured against ONNX Runtime 1.31 on all 65,536 pairs of
// 120 parameter sets, no difference): rne(fma(a, a_ratio, fma(b, b_ratio, fixed))). The order of operands matters for
// ties. y = a · b (QLinearMul; measured alike): rne(f32((a - a_zp) · (b - b_zp)) · ratio + y_zp), ratio = (a_scale ·
// b_scale) / y_scale.
struct AddForm {
  float a_ratio = 1.0f;  // a_scale / y_scale
  float b_ratio = 1.0f;  // b_scale / y_scale
  float fixed = 0.0f;    // y_zero_point - fma(a_ratio, a_zero_point, b_ratio * b_zero_point)

  static AddForm of(float a_scale, std::int32_t a_zero_point, float b_scale, std::int32_t b_zero_point, float y_scale,
                    std::int32_t y_zero_point) {
    const float a_ratio = a_scale / y_scale;
    const float b_ratio = b_scale / y_scale;
    const float b_part = b_ratio * static_cast<float>(b_zero_point);
    return {a_ratio, b_ratio,
            static_cast<float>(y_zero_point) - std::fma(a_ratio, static_cast<float>(a_zero_point), b_part)};
  }
};

// y = a + b on quantized values in integers, profile tflite-xnnpack (its qs8 and qu8 additions; measured against
// LiteRT 2.3 on all 65,536 pairs of 16 parameter sets, no difference): ((a · a_multiplier + b · b_multiplier + bias) >>
// right_shift) + y_zp, half rounded up by the bias. A subtraction has a negative b_multiplier. Sums wrap in 32 bits; of
// the parameters that of() makes they cannot leave them.
struct IntegerAddForm {
  static constexpr std::int32_t kLargestMultiplier = 1 << 21;
  static constexpr std::int32_t kMostShift = 30;

  std::int32_t a_multiplier = 0;
  std::int32_t b_multiplier = 0;
  std::int32_t bias = 0;
  std::int32_t right_shift = 1;
  std::int32_t zero_point = 0;

  // Ratios of scales that the source computes in integers; beyond these it falls back to other formulas.
  static bool is_ratio(float ratio) { return ratio >= 0x1p-10f && ratio < 0x1p8f; }
  // Of scales whose ratios to y_scale are such. b_sign is -1 for a subtraction.
  static IntegerAddForm of(float a_scale, std::int32_t a_zero_point, float b_scale, std::int32_t b_zero_point,
                           float y_scale, std::int32_t y_zero_point, int b_sign) {
    const float a_ratio = a_scale / y_scale;
    const float b_ratio = b_scale / y_scale;
    // The larger multiplier has 21 bits.
    const int right_shift = 20 - std::ilogb(a_ratio > b_ratio ? a_ratio : b_ratio);
    const auto a_multiplier = static_cast<std::int32_t>(round_even(std::ldexp(a_ratio, right_shift)));
    const auto b_multiplier = static_cast<std::int32_t>(round_even(std::ldexp(b_ratio, right_shift))) * b_sign;
    const std::int32_t bias =
        (std::int32_t{1} << (right_shift - 1)) - a_multiplier * a_zero_point - b_multiplier * b_zero_point;
    return {a_multiplier, b_multiplier, bias, right_shift, y_zero_point};
  }
  // The same results from operands that are stored with this added to them.
  IntegerAddForm with_shifted(std::int32_t a_shift, std::int32_t b_shift) const {
    IntegerAddForm form = *this;
    form.bias = static_cast<std::int32_t>(wrapped(bias) - wrapped(a_multiplier) * wrapped(a_shift) -
                                          wrapped(b_multiplier) * wrapped(b_shift));
    return form;
  }
  std::int32_t apply(std::int32_t a, std::int32_t b, std::int32_t lowest, std::int32_t highest) const {
    const auto sum = static_cast<std::int32_t>(wrapped(a) * wrapped(a_multiplier) + wrapped(b) * wrapped(b_multiplier) +
                                               wrapped(bias));
    const std::int32_t y = (sum >> right_shift) + zero_point;
    return y < lowest ? lowest : (y > highest ? highest : y);
  }
  bool operator==(const IntegerAddForm&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"a_multiplier", &IntegerAddForm::a_multiplier},
                      Field{"b_multiplier", &IntegerAddForm::b_multiplier}, Field{"bias", &IntegerAddForm::bias},
                      Field{"right_shift", &IntegerAddForm::right_shift},
                      Field{"zero_point", &IntegerAddForm::zero_point});
  }

 private:
  static std::uint32_t wrapped(std::int32_t value) { return static_cast<std::uint32_t>(value); }
};

// QuantizeLinear: a true division.
constexpr std::int32_t quantize_value(float x, float scale, std::int32_t zero_point, std::int32_t lowest,
                                      std::int32_t highest) {
  return round_then_zero_point(x / scale, zero_point, lowest, highest);
}

// Average pooling, profile onnx (QLinearAveragePool and AveragePool between q/dq; measured against ONNX Runtime 1.31 on
// 206,848 values of 192 parameter sets, no difference). The sum is in f32, in row-major order of the window, one
// product and one addition per element inside the image; rounding errors decide ties, so the order matters and the
// exact sum is not the same. With count_include_pad the count is that of the whole kernel, also where a ceil-mode
// window leaves the padded image. A window over the whole image without padding is a global average. The mean is
// divided by y_scale, in f32, and rounded with the zero point in.
inline float average_pool_add(float sum, std::int32_t x_minus_zero_point, float x_scale) {
  return sum + x_scale * static_cast<float>(x_minus_zero_point);
}

// Global average pooling, profile onnx: the exact s32 sum of x - x_zp with this multiplier (measured on
// 7,680 values, no difference).
inline float global_average_multiplier(float x_scale, float y_scale, std::int64_t count) {
  return x_scale / (y_scale * static_cast<float>(count));
}

// Average pooling that keeps scale and zero point, TFLite's in all its profiles (measured against LiteRT 2.3, no
// difference): the exact s32 sum of the stored values over their count, half rounded away from 0.
inline std::int32_t integer_average(std::int32_t sum, std::int32_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

// Softmax, profile onnx: from f32 exponentials (relative to the largest element of the line) and their f32 sum, in
// order. inverse_scale is floor(1 / y_scale).
inline std::int32_t softmax_value(float exponential, float sum, float inverse_scale, std::int32_t zero_point,
                                  std::int32_t lowest, std::int32_t highest) {
  return round_then_zero_point(exponential * inverse_scale / sum, zero_point, lowest, highest);
}
// Measured against ONNX Runtime 1.31 on 193,248 values of 64 parameter sets, no difference.
inline float softmax_inverse_scale(float y_scale) { return std::floor(1.0f / y_scale); }

// Entry i of the table of exponentials for lines of `length` elements: that of an element 255 - i below the largest of
// its line. All are scaled up alike, so that the sum of a line stays below the largest f32 by a factor of e^5.
inline float softmax_exponential(int i, float x_scale, std::int64_t length) {
  constexpr float largest = std::numeric_limits<float>::max();
  const double room = math_log(static_cast<double>(largest / static_cast<float>(length))) - 5.0;
  const double shift = (room > 0.0 ? room : 0.0) / static_cast<double>(x_scale);
  return static_cast<float>(math_exp((static_cast<double>(i) - 255.0 + shift) * static_cast<double>(x_scale)));
}

// Softmax of TFLite, all profiles (measured against LiteRT 2.3 on 108,528 values of 40 parameter sets, no difference):
// entry i of the table as above, without scaling; the f32 sum in order.
inline float tflite_softmax_exponential(int i, float x_scale) {
  return static_cast<float>(math_exp(static_cast<double>(-x_scale * static_cast<float>(255 - i))));
}
inline float tflite_softmax_factor(float sum, float y_scale) { return 1.0f / (sum * y_scale); }
inline std::int32_t tflite_softmax_value(float exponential, float factor, std::int32_t zero_point, std::int32_t lowest,
                                         std::int32_t highest) {
  const float clamped = clamp_f32(exponential * factor, 0.0f, 1024.0f);
  const std::int32_t q = static_cast<std::int32_t>(clamped + 0.5f) + zero_point;
  return q < lowest ? lowest : (q > highest ? highest : q);
}

// Round to nearest, halves away from 0.
constexpr float round_away(float x) {
  const float whole = __builtin_truncf(x);
  return __builtin_fabsf(x - whole) >= 0.5f ? whole + __builtin_copysignf(1.0f, x) : whole;
}

// The same of TFLite's reference kernels.
constexpr std::int32_t quantize_value_away(float x, float scale, std::int32_t zero_point, std::int32_t lowest,
                                           std::int32_t highest) {
  const float clamped =
      clamp_f32(x / scale, static_cast<float>(lowest - zero_point), static_cast<float>(highest - zero_point));
  return static_cast<std::int32_t>(round_away(clamped)) + zero_point;
}

// DynamicQuantizeLinear: the range contains 0; a range of nothing has scale 1.
struct DynamicScale {
  float scale = 1.0f;
  std::int32_t zero_point = 0;

  static constexpr DynamicScale of(float lowest, float highest) {
    const float scale = lowest == highest ? 1.0f : (highest - lowest) / 255.0f;
    return {scale, static_cast<std::int32_t>(round_even(clamp_f32(0.0f - lowest / scale, 0.0f, 255.0f)))};
  }
};

// The profiles of base/fixed_point.h.
inline bool is_fixed_point(Profile profile) {
  return profile == Profile::tflite_double || profile == Profile::tflite_single || profile == Profile::tflite_optimized;
}
// Those of TFLite's own kernels, by which real values become integers with halves away from 0.
inline bool rounds_away(Profile profile) {
  return is_fixed_point(profile) || profile == Profile::tflite_real || profile == Profile::tflite_joined ||
         profile == Profile::tflite_wide;
}
// Those of TFLite's own kernels and of XNNPACK.
inline bool is_of_tflite(Profile profile) { return profile == Profile::tflite_xnnpack || rounds_away(profile); }

// Whether real values become integers by a product with 1 / scale instead of a division by the scale.
inline bool multiplies_by_inverse(Profile profile) {
  return profile == Profile::pt2e || profile == Profile::tflite_xnnpack;
}

// DequantizeLinear.
inline float dequantize_value(std::int32_t q, float scale, std::int32_t zero_point) {
  return static_cast<float>(q - zero_point) * scale;
}

}  // namespace octavo

#endif  // OCTAVO_BASE_REQUANTIZE_H_
