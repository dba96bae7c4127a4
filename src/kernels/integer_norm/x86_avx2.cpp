// integer_norm/ for AVX2. Part of kernels/.
#include "kernels/integer_norm/generic.h"
#include "kernels/simd/avx2.h"

namespace octavo {

constexpr NormFunctions kNormAvx2 = norm_functions<Avx2>();

}  // namespace octavo
