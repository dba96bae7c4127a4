// Rescaling of quantized values in integers, as XNNPACK does it; belongs to the rule book of requantize.h. Part of
// base/.
#ifndef OCTAVO_BASE_RESCALE_H_
#define OCTAVO_BASE_RESCALE_H_

#include <cmath>
#include <cstdint>

#include "base/requantize.h"

namespace octavo {

// (x - x_zp) times a ratio of scales, or below 0 times another one (leaky_relu), profile tflite-xnnpack (measured
// against LiteRT 2.3: conversions between scales of one type, and LEAKY_RELU, 10,240 values of 40 parameter sets each,
// no difference): (x * multiplier + 128) >> 8 with 8 bits behind the point.
struct RescaleForm {
  float positive = 0.0f;  // multipliers, rounded
  float negative = 0.0f;

  static RescaleForm of(float ratio, float slope) {
    return {round_even(256.0f * ratio), round_even(256.0f * slope * ratio)};
  }
  // Multipliers of 16 bits, as the source checks before it takes this formula.
  bool is_possible() const { return positive >= 1.0f && positive <= 32767.0f && std::fabs(negative) <= 32767.0f; }
  std::int32_t apply(std::int32_t x) const {
    return (x * static_cast<std::int32_t>(x < 0 ? negative : positive) + 128) >> 8;
  }
};

// Sums and means of values as they are stored, s = f32(exact sum): rne(s * multiplier + offset), profile tflite-xnnpack
// (measured against LiteRT 2.3 on 110,000 values of 900 parameter sets, no difference). The zero point is in the
// offset, so that halves go to where it puts them.
struct StoredSumForm {
  float multiplier = 1.0f;
  float offset = 0.0f;

  // Of `terms` values, with `share` (1 / terms for a mean, 1 for a sum) in f32.
  static StoredSumForm of(float x_scale, std::int32_t x_zero_point, float y_scale, std::int32_t y_zero_point,
                          std::int64_t terms, float share) {
    const float multiplier = x_scale / y_scale * share;
    const auto zero_points = static_cast<float>(x_zero_point * terms);
    return {multiplier, static_cast<float>(y_zero_point) - zero_points * multiplier};
  }
};

}  // namespace octavo

#endif  // OCTAVO_BASE_RESCALE_H_
