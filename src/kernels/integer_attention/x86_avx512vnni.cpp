// integer_attention/ for AVX-512 VNNI. Part of kernels/.
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/avx512vnni.h"

namespace octavo {

constexpr HeadFunctions kHeadAvx512Vnni = head_functions<Avx512Vnni, Quads<Avx512Vnni>, 8>();

}  // namespace octavo
