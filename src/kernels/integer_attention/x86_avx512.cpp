// integer_attention/ for AVX-512. Part of kernels/.
#include "kernels/integer_attention/pairs.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr HeadFunctions kHeadAvx512 = head_functions<Avx512, Pairs<Avx512>, 8>();

}  // namespace octavo
