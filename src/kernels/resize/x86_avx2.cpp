// resize/ for AVX2. Part of kernels/.
#include "kernels/resize/generic.h"

namespace octavo {

constexpr WeightedFunctions kWeightedAvx2 = weighted_functions();
constexpr LinearFunctions kLinearAvx2 = linear_functions();
constexpr IntegerLineFunctions kIntegerLinesAvx2 = integer_line_functions();

}  // namespace octavo
