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

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_PLATFORM_H_
