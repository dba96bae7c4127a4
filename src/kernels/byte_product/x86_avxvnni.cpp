// byte_product/ for AVX-VNNI. Part of kernels/.
#include "kernels/byte_product/generic.h"
#include "kernels/simd/avx2.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {
namespace {

struct AvxVnni : Avx2 {
  static S32 add_quads(S32 sum, S32 a, S32 b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }
};

}  // namespace

constexpr ByteProductFunctions kByteProductAvxVnni = byte_product_functions<AvxVnni, Avx2, 4>();

}  // namespace octavo
