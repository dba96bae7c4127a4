// integer_norm/ for AVX-512. Part of kernels/.
#include "kernels/integer_norm/generic.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr NormFunctions kNormAvx512 = norm_functions<Avx512>();

}  // namespace octavo
