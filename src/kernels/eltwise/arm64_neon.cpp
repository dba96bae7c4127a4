// eltwise/ for Advanced SIMD. Part of kernels/.
#include "kernels/eltwise/generic.h"
#include "kernels/simd/fixed_neon.h"

namespace octavo {

constexpr EltwiseFunctions kEltwiseNeon = eltwise_functions<Neon>();

}  // namespace octavo
