// float/ for Advanced SIMD. Part of kernels/.
#include "kernels/float/generic.h"
#include "kernels/simd/fixed_neon.h"

namespace octavo {

constexpr SumFunctions kSumsNeon = sum_functions<16, Neon>();

}  // namespace octavo
