// byte_product/ for AVX-VNNI. Part of kernels/.
#include "kernels/byte_product/generic.h"
#include "kernels/simd/avxvnni.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {

constexpr ByteProductFunctions kByteProductAvxVnni = byte_product_functions<AvxVnni, Avx2, 4>();

}  // namespace octavo
