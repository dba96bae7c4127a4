// integer_attention/ for AVX-VNNI. Part of kernels/.
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/avx2.h"

namespace octavo {
namespace {

struct AvxVnni : Avx2 {
  static S32 add_quads(S32 sum, S32 a, S32 b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }
};

}  // namespace

constexpr HeadFunctions kHeadAvxVnni = head_functions<AvxVnni, Quads<AvxVnni>, 4>();

}  // namespace octavo
