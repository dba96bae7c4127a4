// Avx512 with dot products of bytes. See scalar.h and quads.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_AVX512VNNI_H_
#define OCTAVO_KERNELS_SIMD_AVX512VNNI_H_

#include "kernels/simd/avx512.h"
#include "kernels/simd/sse_bytes.h"

namespace octavo {
namespace {

struct Avx512Vnni : Avx512 {
  using Bytes = SseBytes;
  static constexpr bool kMixesSigns = true;

  static S32 add_quads(S32 sum, S32 a, S32 b) { return _mm512_dpbusd_epi32(sum, a, b); }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_AVX512VNNI_H_
