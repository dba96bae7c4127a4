// Loops that are written out while templates are. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_UNROLLED_H_
#define OCTAVO_KERNELS_SIMD_UNROLLED_H_

#include <utility>

namespace octavo {
namespace {

// f(0), ..., f(kCount - 1), numbers that the compiler knows: GCC unrolls loops after it has decided that what they
// index lies in memory.
template <int kCount, class F>
constexpr __attribute__((always_inline)) void unrolled(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_UNROLLED_H_
