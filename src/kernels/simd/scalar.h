// Simd of one lane in portable C++ (base/lane.h, and what integers need): the tail of every wide loop, and the whole of
// it on machines without vectors. Part of kernels/. The headers of simd/ offer the same operations for different widths
// and give the same bits; a family's generic.h is written once over them. Everything has internal linkage: wide code
// must not be shared with files compiled for older machines.
#ifndef OCTAVO_KERNELS_SIMD_SCALAR_H_
#define OCTAVO_KERNELS_SIMD_SCALAR_H_

#include <cstdint>

#include "base/lane.h"

namespace octavo {
namespace {

struct Scalar : Lane {
  static constexpr S32 load_s32(const std::int32_t* p) { return *p; }
  static constexpr void store_s32(std::int32_t* p, S32 x) { *p = x; }

  static constexpr S32 widen_u8(const std::uint8_t* p) { return *p; }
  static constexpr S32 widen_s8(const std::uint8_t* p) { return static_cast<std::int8_t>(*p); }
  static constexpr S32 widen_u16(const std::uint16_t* p) { return *p; }
  static constexpr S32 widen_s16(const std::int16_t* p) { return *p; }
  // Of lanes in range.
  static constexpr void store_s16(std::int16_t* p, S32 x) { *p = static_cast<std::int16_t>(x); }
  // The lowest byte of each lane.
  static constexpr void store_bytes(std::uint8_t* p, S32 x) { *p = static_cast<std::uint8_t>(x); }
  // Of the lanes of four vectors, all within u8.
  static constexpr void store_four(std::uint8_t* p, S32 a, S32 b, S32 c, S32 d) {
    const S32 lanes[] = {a, b, c, d};
    for (int i = 0; i < 4; ++i) store_bytes(p + i, lanes[i]);
  }

  // Of all lanes, none of which is NaN.
  static constexpr float lowest(F32 x) { return x; }
  static constexpr float highest(F32 x) { return x; }
  // Of all lanes, wrapping.
  static constexpr std::int32_t total(S32 x) { return x; }
  // To nearest even; in range.
  static constexpr S32 round(F32 x) {
#ifdef __CUDA_ARCH__
    return __float2int_rn(x);  // one instruction; by way of 64 bits it is several slow ones
#else
    return static_cast<std::int32_t>(__builtin_lrintf(x));
#endif
  }

  static constexpr S32 mul_s32(S32 a, S32 b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
  }
  // Lanes of a and b hold two s16 each, the first in the low half: sum + both products, wrapping.
  static constexpr S32 add_pairs(S32 sum, S32 a, S32 b) {
    return add_s32(sum, add_s32(low_half(a) * low_half(b), (a >> 16) * (b >> 16)));
  }
  // Of both s16 of each lane.
  static constexpr S32 max_pairs(S32 a, S32 b) {
    return of_pairs(a, b, [](S32 x, S32 y) { return max_s32(x, y); });
  }
  static constexpr S32 min_pairs(S32 a, S32 b) {
    return of_pairs(a, b, [](S32 x, S32 y) { return min_s32(x, y); });
  }
  static constexpr S32 shift_right_s32(S32 a, std::int32_t bits) { return a >> bits; }
  static constexpr S32 max_s32(S32 a, S32 b) { return a > b ? a : b; }
  static constexpr S32 min_s32(S32 a, S32 b) { return a < b ? a : b; }

  // y[i] = table[x[i]], x may be y.
  static constexpr void lookup(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
  }

 private:
  static constexpr S32 low_half(S32 x) { return static_cast<std::int16_t>(x & 0xffff); }
  template <class F>
  static constexpr S32 of_pairs(S32 a, S32 b, const F& f) {
    return static_cast<S32>(static_cast<std::uint32_t>(f(a >> 16, b >> 16)) << 16 |
                            (static_cast<std::uint32_t>(f(low_half(a), low_half(b))) & 0xffff));
  }
};

// Calls f<S>(i) for whole vectors in [i, n), then f<S::Half> and so on down to single lanes: no access beyond n.
template <class S, class F>
constexpr void for_lanes(std::int64_t i, std::int64_t n, const F& f) {
  for (; i + S::kLanes <= n; i += S::kLanes) f.template operator()<S>(i);
  if constexpr (S::kLanes > 1) for_lanes<typename S::Half>(i, n, f);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_SCALAR_H_
