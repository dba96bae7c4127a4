// float/ for AVX-512. Part of kernels/.
#include "kernels/float/generic.h"
#include "kernels/simd/fixed_avx512.h"

namespace octavo {

constexpr SumFunctions kSumsAvx512 = sum_functions<64, Avx512>();

}  // namespace octavo
