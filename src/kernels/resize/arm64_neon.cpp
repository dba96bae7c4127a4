// resize/ for Advanced SIMD. Part of kernels/.
#include "kernels/resize/generic.h"

namespace octavo {

constexpr WeightedFunctions kWeightedNeon = weighted_functions();
constexpr LinearFunctions kLinearNeon = linear_functions();

}  // namespace octavo
