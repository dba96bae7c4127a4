// AvxVnni in the encoding of AVX-512 VL, which processors have that lack the other one. See scalar.h and quads.h. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_EVEXVNNI_H_
#define OCTAVO_KERNELS_SIMD_EVEXVNNI_H_

#include "kernels/simd/avx2.h"
#include "kernels/simd/sse_bytes.h"

namespace octavo {
namespace {

struct EvexVnni : Avx2 {
  using Bytes = SseBytes;
  static constexpr bool kMixesSigns = true;

  static S32 add_quads(S32 sum, S32 a, S32 b) { return _mm256_dpbusd_epi32(sum, a, b); }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_EVEXVNNI_H_
