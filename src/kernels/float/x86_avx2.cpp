// float/ for AVX2. Part of kernels/.
#include "kernels/float/generic.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {

constexpr SumFunctions kSumsAvx2 = sum_functions<32, Avx2>();

}  // namespace octavo
