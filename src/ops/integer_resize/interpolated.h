// What integer_resize makes of four values, so that code of devices may include it. Part of ops/.
#ifndef OCTAVO_OPS_INTEGER_RESIZE_INTERPOLATED_H_
#define OCTAVO_OPS_INTEGER_RESIZE_INTERPOLATED_H_

#include <cstdint>
#include <string_view>

#include "base/requantize.h"

namespace octavo {

// How a sum of four becomes an integer. Numbers are part of the artifact format.
//   ten_bits: weights in 1024ths, halves away from 0. eleven_bits: in 2048ths, halves up. real: f32 weights, the f32
//   sum plus 0.5 cut off.
enum class ResizeRounding : std::uint8_t { ten_bits = 0, eleven_bits = 1, real = 2 };
constexpr int count_of(ResizeRounding) { return 3; }
constexpr std::string_view name_of(ResizeRounding value) {
  constexpr std::string_view names[] = {"ten_bits", "eleven_bits", "real"};
  return names[static_cast<int>(value)];
}

// The values of two rows in the left column, then in the right one; weights of the second row and column, which in
// files may be any number.
struct FourValues {
  std::int32_t at[4] = {};
  float wy = 0.0f, wx = 0.0f;

  constexpr std::int64_t rounded(ResizeRounding rounding) const {
    if (rounding == ResizeRounding::real) return rounded_real();
    const int bits = rounding == ResizeRounding::ten_bits ? 10 : 11;
    const std::int64_t sum = weighted(bits), half = std::int64_t{1} << (2 * bits - 1);
    if (rounding == ResizeRounding::eleven_bits) return (sum + half) >> (2 * bits);
    return (sum > 0 ? sum + half : sum - half) / (2 * half);
  }

 private:
  static constexpr std::int64_t whole(float weight) {
    return static_cast<std::int64_t>(clamp_f32(weight, -4096.0f, 4096.0f));
  }
  constexpr std::int64_t weighted(int bits) const {
    const std::int64_t one = std::int64_t{1} << bits, y = whole(wy), x = whole(wx);
    return (at[0] * (one - x) + at[2] * x) * (one - y) + (at[1] * (one - x) + at[3] * x) * y;
  }
  constexpr std::int64_t rounded_real() const {
    const float ry = 1.0f - wy, rx = 1.0f - wx;
    const float sum = static_cast<float>(at[0]) * ry * rx + static_cast<float>(at[1]) * wy * rx +
                      static_cast<float>(at[2]) * ry * wx + static_cast<float>(at[3]) * wy * wx;
    return static_cast<std::int64_t>(clamp_f32(sum + 0.5f, -1024.0f, 1024.0f));
  }
};

}  // namespace octavo

#endif  // OCTAVO_OPS_INTEGER_RESIZE_INTERPOLATED_H_
