// pool/ for AVX-512. Part of kernels/.
#include "kernels/pool/generic.h"
#include "kernels/simd/fixed_avx512.h"

namespace octavo {

constexpr PoolFunctions kPoolAvx512 = pool_functions<Avx512>();

}  // namespace octavo
