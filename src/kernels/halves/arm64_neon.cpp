// halves/ for Advanced SIMD. Part of kernels/.
#include "kernels/halves/generic.h"

namespace octavo {

constexpr HalfFunctions kHalvesNeon = half_functions();

}  // namespace octavo
