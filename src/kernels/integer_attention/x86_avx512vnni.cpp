// integer_attention/ for AVX-512 VNNI. Part of kernels/.
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/avx512.h"

namespace octavo {
namespace {

struct Avx512Vnni : Avx512 {
  static S32 add_quads(S32 sum, S32 a, S32 b) { return _mm512_dpbusd_epi32(sum, a, b); }
};

}  // namespace

constexpr HeadFunctions kHeadAvx512Vnni = head_functions<Avx512Vnni, Quads<Avx512Vnni>, 8>();

}  // namespace octavo
