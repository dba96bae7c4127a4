// integer_attention/ for AVX2. Part of kernels/.
#include "kernels/integer_attention/pairs.h"
#include "kernels/simd/avx2.h"

namespace octavo {

constexpr HeadFunctions kHeadAvx2 = head_functions<Avx2, Pairs<Avx2>, 4>();

}  // namespace octavo
