// The contract of integer_resize: lines of the result out of two lines of x that were spread out to its width. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_INTEGER_LINES_H_
#define OCTAVO_KERNELS_RESIZE_INTEGER_LINES_H_

#include <cstddef>
#include <cstdint>

#include "ops/integer_resize/interpolated.h"

namespace octavo {

// Position o of a line lies between positions left[o] and right[o] of x; each has `channels` elements next to each
// other. Weights of the right one are whole ones, in units of 2^-bits, or real ones.
struct ColumnTaps {
  const std::int32_t* left = nullptr;
  const std::int32_t* right = nullptr;
  const std::int32_t* whole_weight = nullptr;
  const float* real_weight = nullptr;
  std::int64_t positions = 0, channels = 1;
};

// The lines above and below a line of the result, as spread. x and y are stored with `shift` added.
struct LinesBetween {
  const void* above = nullptr;
  const void* below = nullptr;
  std::int32_t whole_weight = 0;  // of the one below
  float real_weight = 0.0f;
  std::int32_t shift = 0;
  ResizeRounding rounding = ResizeRounding::ten_bits;
};

// FourValues::rounded of every element, where all weights are within bounds: whole sums then fit s32 in any order.
struct IntegerLineFunctions {
  struct OfType {
    // to[o] = x[left] * (one - weight) + x[right] * weight, s32 [positions * channels]
    void (*spread_whole)(const ColumnTaps& taps, const std::byte* x, std::int32_t one, std::int32_t shift,
                         std::int32_t* to);
    // to[0] = x[left], to[1] = x[right], f32 [2][positions * channels]
    void (*spread_real)(const ColumnTaps& taps, const std::byte* x, std::int32_t shift, float* to);
    void (*join_whole)(const LinesBetween& lines, std::int64_t n, std::byte* y);
    void (*join_real)(const ColumnTaps& taps, const LinesBetween& lines, std::byte* y);
  };
  OfType u8, s8;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_INTEGER_LINES_H_
