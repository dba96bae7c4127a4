// Lane: one f32 with the operations that the vectors of kernels/simd/ have, in portable C++. What is written once over
// such a type (base/elementary.h) gives the same bits for every one of them: each operation is IEEE's, rounded once.
// Part of base/. Everything has internal linkage: wide code must not be shared with files compiled for older machines.
#ifndef OCTAVO_BASE_LANE_H_
#define OCTAVO_BASE_LANE_H_

#include <cstdint>

namespace octavo {
namespace {

struct Lane {
  static constexpr int kLanes = 1;
  using F32 = float;
  using S32 = std::int32_t;
  using F64 = double;  // kLanes of them
  using Mask = bool;

  static constexpr F32 load(const float* p) { return *p; }
  static constexpr void store(float* p, F32 x) { *p = x; }
  // The first n lanes, 0 < n <= kLanes, no access beyond them; the others read as `fill`.
  static constexpr F32 load_first(const float* p, std::int64_t, float) { return *p; }
  static constexpr void store_first(float* p, F32 x, std::int64_t) { *p = x; }
  static constexpr F32 set(float x) { return x; }
  static constexpr S32 set_s32(std::int32_t x) { return x; }

  static constexpr F32 add(F32 a, F32 b) { return a + b; }
  static constexpr F32 sub(F32 a, F32 b) { return a - b; }
  static constexpr F32 mul(F32 a, F32 b) { return a * b; }
  static constexpr F32 div(F32 a, F32 b) { return a / b; }
  static constexpr F32 fma(F32 a, F32 b, F32 c) { return __builtin_fmaf(a, b, c); }
  static constexpr F32 sqrt(F32 x) { return __builtin_sqrtf(x); }
  // The second operand where they are equal or one is NaN, as maxps and minps do.
  static constexpr F32 max(F32 a, F32 b) { return a > b ? a : b; }
  static constexpr F32 min(F32 a, F32 b) { return a < b ? a : b; }
  // To a whole number: to nearest even, down, up.
  static constexpr F32 nearest(F32 x) { return __builtin_nearbyintf(x); }
  static constexpr F32 floor(F32 x) { return __builtin_floorf(x); }
  static constexpr F32 ceil(F32 x) { return __builtin_ceilf(x); }
  static constexpr F32 to_f32(S32 x) { return static_cast<float>(x); }

  // False where one is NaN.
  static constexpr Mask less(F32 a, F32 b) { return a < b; }
  static constexpr Mask equal(F32 a, F32 b) { return a == b; }
  static constexpr F32 select(Mask mask, F32 a, F32 b) { return mask ? a : b; }
  static constexpr bool any_greater(F32 a, F32 b) { return a > b; }

  static constexpr S32 as_s32(F32 x) { return __builtin_bit_cast(std::int32_t, x); }
  static constexpr F32 as_f32(S32 x) { return __builtin_bit_cast(float, x); }
  // These wrap.
  static constexpr S32 add_s32(S32 a, S32 b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  static constexpr S32 sub_s32(S32 a, S32 b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
  }
  static constexpr S32 and_s32(S32 a, S32 b) { return a & b; }
  static constexpr S32 xor_s32(S32 a, S32 b) { return a ^ b; }
  template <int bits>
  static constexpr S32 shift_left(S32 a) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) << bits);
  }
  template <int bits>
  static constexpr S32 shift_right(S32 a) {  // rounds down
    return a >> bits;
  }

  static constexpr F64 widen(F32 x) { return x; }
  static constexpr F32 narrow(F64 x) { return static_cast<float>(x); }
  static constexpr F64 load_f64(const double* p) { return *p; }
  static constexpr void store_f64(double* p, F64 x) { *p = x; }
  static constexpr F64 set_f64(double x) { return x; }
  static constexpr F64 add_f64(F64 a, F64 b) { return a + b; }
  static constexpr F64 sub_f64(F64 a, F64 b) { return a - b; }
  static constexpr F64 mul_f64(F64 a, F64 b) { return a * b; }
  static constexpr F64 fma_f64(F64 a, F64 b, F64 c) { return __builtin_fma(a, b, c); }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_BASE_LANE_H_
