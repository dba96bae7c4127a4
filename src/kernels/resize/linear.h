// The contract of linear resize: lines of the result out of one or two lines of x. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_LINEAR_H_
#define OCTAVO_KERNELS_RESIZE_LINEAR_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

// Position o of a line is w0[o] * x[first[o]], and, where two[o] is not 0, + w1[o] * x[second[o]]. Where it is 0, w0 is
// 1, w1 0 and `second` what `first` is.
struct LineTaps {
  const std::int32_t* first = nullptr;
  const std::int32_t* second = nullptr;
  const float* w0 = nullptr;
  const float* w1 = nullptr;
  const std::int32_t* two = nullptr;
  std::int64_t positions = 0;
};

// The lines of x that a line of the result lies between, and their weights; one of weight 1 where it lies on it.
struct LinePair {
  const void* line[2] = {nullptr, nullptr};
  float weight[2] = {1.0f, 0.0f};
  bool has_second = false;
};

// Of f32, u8 and s8. Sums are f32 and begin with 0, the first line's terms first; integers are cut off.
struct LinearFunctions {
  // to[0][o] = x[first[o]], to[1][o] = x[second[o]], in f32; to[1] lies `positions` behind.
  using Spread = void (*)(const LineTaps& taps, const std::byte* x, float* to);
  // y of two spread lines.
  using Join = void (*)(const LineTaps& taps, const LinePair& pair, std::byte* y);
  // y of two lines whose positions are `inner` elements each.
  using Runs = void (*)(const LineTaps& taps, std::int64_t inner, const LinePair& pair, std::byte* y);
  struct OfType {
    Spread spread;
    Join join;
    Runs runs;
  };
  OfType f32, u8, s8;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_LINEAR_H_
