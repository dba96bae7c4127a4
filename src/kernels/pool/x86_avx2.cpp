// pool/ for AVX2. Part of kernels/.
#include "kernels/pool/generic.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {

constexpr PoolFunctions kPoolAvx2 = pool_functions<Avx2>();

}  // namespace octavo
