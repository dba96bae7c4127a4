// What code of devices needs to be compiled by a host's compiler, too. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_PLATFORM_H_
#define OCTAVO_CUDA_DEVICE_PLATFORM_H_

#include <cstddef>
#include <cstdint>
#include <utility>

// Functions of kernels. Formulas that processors and devices share are constexpr instead (kernels/epilogue/generic.h):
// nvcc takes such functions for both.
#ifdef __CUDACC__
#define OCTAVO_DEVICE __device__ __forceinline__
#else
#define OCTAVO_DEVICE inline
#endif

namespace octavo::cuda {

// f(0) to f(n - 1) with numbers that the compiler knows: what is indexed by them stays in registers.
template <class F, int... i>
OCTAVO_DEVICE void unrolled(const F& f, std::integer_sequence<int, i...>) {
  (f(std::integral_constant<int, i>{}), ...);
}
template <int n, class F>
OCTAVO_DEVICE void unrolled(const F& f) {
  unrolled(f, std::make_integer_sequence<int, n>{});
}

// Four of the eight bytes of a and b, a's lowest being number 0; a digit of `numbers` each, the last one first.
OCTAVO_DEVICE std::uint32_t picked_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t numbers) {
#ifdef __CUDACC__
  return __byte_perm(a, b, numbers);
#else
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t picked = 0;
  for (int i = 0; i < 4; ++i) picked |= static_cast<std::uint32_t>(both >> 8 * (numbers >> 4 * i & 7) & 0xff) << 8 * i;
  return picked;
#endif
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_PLATFORM_H_
