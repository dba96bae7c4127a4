// Simd: the vectors of the instruction set that a family's functions.cpp is being compiled for. See scalar.h. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_SIMD_OF_FILE_H_
#define OCTAVO_KERNELS_SIMD_OF_FILE_H_

#include "kernels/isa_of_file.h"
#include "kernels/simd/fixed.h"

#ifdef __AVX2__
#include "kernels/simd/fixed_avx2.h"
#endif
#ifdef __AVXVNNI__
#include "kernels/simd/avxvnni.h"
#endif
#ifdef __AVX512BW__
#include "kernels/simd/fixed_avx512.h"
#endif
#ifdef __AVX512VNNI__
#include "kernels/simd/avx512vnni.h"
#endif
#ifdef __aarch64__
#include "kernels/simd/fixed_neon.h"
#endif
#ifdef __ARM_FEATURE_DOTPROD
#include "kernels/simd/neon_dot.h"
#endif

namespace octavo {
namespace {

template <Isa isa>
struct SimdOf;
template <>
struct SimdOf<Isa::scalar> {
  using Type = Scalar;
};
#ifdef __AVX2__
template <>
struct SimdOf<Isa::avx2> {
  using Type = Avx2;
};
#endif
#ifdef __AVXVNNI__
template <>
struct SimdOf<Isa::avxvnni> {
  using Type = AvxVnni;
};
#endif
#ifdef __AVX512BW__
template <>
struct SimdOf<Isa::avx512> {
  using Type = Avx512;
};
#endif
#ifdef __AVX512VNNI__
template <>
struct SimdOf<Isa::avx512vnni> {
  using Type = Avx512Vnni;
};
#endif
#ifdef __aarch64__
template <>
struct SimdOf<Isa::neon> {
  using Type = Neon;
};
#endif
#ifdef __ARM_FEATURE_DOTPROD
template <>
struct SimdOf<Isa::dotprod> {
  using Type = NeonDot;
};
#endif
using Simd = SimdOf<kIsa>::Type;

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_OF_FILE_H_
