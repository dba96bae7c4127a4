// byte_product/ for AVX-512 VNNI. Part of kernels/.
#include "kernels/byte_product/generic.h"
#include "kernels/simd/avx512vnni.h"
#include "kernels/simd/fixed_avx512.h"

namespace octavo {

constexpr ByteProductFunctions kByteProductAvx512Vnni = byte_product_functions<Avx512Vnni, Avx512, 8>();

}  // namespace octavo
