// Products of bytes by udot whose loads stand far before their use, for cores that execute in order. Internal linkage
// only. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_UDOT_AHEAD_H_
#define OCTAVO_KERNELS_SIMD_UDOT_AHEAD_H_

#include <arm_neon.h>

#include <atomic>
#include <cstdint>

#include "kernels/simd/unrolled.h"

namespace octavo {
namespace {

// Instructions that compilers leave where they stand, and of which they know no memory.
template <int kShift>
inline __attribute__((always_inline)) uint8x16_t load_behind(const std::uint8_t* p, std::int64_t index) {
  uint8x16_t vector;
  asm volatile("ldr %q0, [%1, %2, lsl %3]" : "=w"(vector) : "r"(p), "r"(index), "i"(kShift));
  return vector;
}
template <int kDword>
inline __attribute__((always_inline)) void add_dword(int32x4_t& sum, uint8x16_t w, uint8x16_t x) {
  asm volatile("udot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kDword));
}

inline constexpr int kAheadVectors = 16;

// sum(r, v) += four dwords of x's row r, k bytes behind x[r], times w, of which each dword has four vectors: vector v
// of a dword is 16 * sixteens bytes behind w[4 * dword + v].
template <int kRows, class Sum>
inline __attribute__((always_inline)) void add_four_dwords(const std::uint8_t* const (&x)[kRows], std::int64_t k,
                                                           const std::uint8_t* const (&w)[kAheadVectors],
                                                           std::int64_t sixteens, const Sum& sum) {
  constexpr int kHeld = kRows == 6 ? 2 : 4;
  uint8x16_t rows[kRows], weights[kHeld];
  const auto load = [&](auto i) __attribute__((always_inline)) { weights[i % kHeld] = load_behind<4>(w[i], sixteens); };
  load(std::integral_constant<int, 0>());
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) { rows[r] = load_behind<0>(x[r], k); });
  unrolled<kAheadVectors * kRows>([&](auto step) __attribute__((always_inline)) {
    constexpr int i = step / kRows, r = step % kRows;
    add_dword<i / 4>(sum(std::integral_constant<int, r>(), std::integral_constant<int, i % 4>()), weights[i % kHeld],
                     rows[r]);
    if constexpr (step < kHeld - 1) load(std::integral_constant<int, step + 1>());
    if constexpr (r == kRows - 1 && i + kHeld < kAheadVectors) load(std::integral_constant<int, i + kHeld>());
  });
}

// sum(r, v), an int32x4_t&, += row r of x times vectors v of w, over `bytes` of each row, a multiple of 16, which end
// at x[r]. 16 bytes of x meet 16 vectors of w, which end at w[i], kSixteens vectors from one to the next. By llvm-mca a
// Cortex-A55 starts a load beside a multiply where it adds an index to a pointer, but not where it adds a constant:
// hence a pointer for each vector. Six rows leave two registers for w, each loaded six multiplies before its use.
template <int kSixteens, int kRows, class Sum>
inline __attribute__((always_inline)) void add_ahead(const std::uint8_t* const (&x)[kRows],
                                                     const std::uint8_t* const (&w)[kAheadVectors], std::int64_t bytes,
                                                     const Sum& sum) {
  // What is stored before is read, and what is stored behind is not.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (std::int64_t k = -bytes, sixteens = -bytes * kSixteens / 16; k != 0; k += 16, sixteens += kSixteens)
    add_four_dwords(x, k, w, sixteens, sum);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_UDOT_AHEAD_H_
