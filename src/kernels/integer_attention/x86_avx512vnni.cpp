// integer_attention/ for AVX-512 VNNI: vpdpwssd adds two products to a sum. Part of kernels/.
#include "kernels/integer_attention/generic.h"
#include "kernels/simd/avx512.h"

namespace octavo {
namespace {

struct Avx512Vnni : Avx512 {
  static S32 add_pairs(S32 sum, S32 a, S32 b) { return _mm512_dpwssd_epi32(sum, a, b); }
};

}  // namespace

constexpr HeadFunctions kHeadAvx512Vnni = head_functions<Avx512Vnni, 8>();

}  // namespace octavo
