// resize/ for Advanced SIMD. Part of kernels/.
#include "kernels/resize/generic.h"

namespace octavo {

constexpr WeightedFunctions kWeightedNeon = weighted_functions();
constexpr LinearFunctions kLinearNeon = linear_functions();
constexpr IntegerLineFunctions kIntegerLinesNeon = integer_line_functions();

}  // namespace octavo
