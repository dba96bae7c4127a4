// byte_product/ for AVX-VNNI in its EVEX encoding. Part of kernels/.
#include "kernels/byte_product/generic.h"
#include "kernels/simd/evexvnni.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {

constexpr ByteProductFunctions kByteProductEvexVnni = byte_product_functions<EvexVnni, Avx2, 4>();

}  // namespace octavo
