// pool/ for Advanced SIMD. Part of kernels/.
#include "kernels/pool/generic.h"
#include "kernels/simd/fixed_neon.h"

namespace octavo {

constexpr PoolFunctions kPoolNeon = pool_functions<Neon>();

}  // namespace octavo
