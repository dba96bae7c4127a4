// byte_product/ for AVX-512 VNNI. Part of kernels/.
#include "kernels/byte_product/generic.h"
#include "kernels/simd/avx512.h"
#include "kernels/simd/fixed_avx512.h"

namespace octavo {
namespace {

struct Avx512Vnni : Avx512 {
  static S32 add_quads(S32 sum, S32 a, S32 b) { return _mm512_dpbusd_epi32(sum, a, b); }
};

}  // namespace

constexpr ByteProductFunctions kByteProductAvx512Vnni = byte_product_functions<Avx512Vnni, Avx512, 8>();

}  // namespace octavo
