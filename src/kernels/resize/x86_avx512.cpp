// resize/ for AVX-512. Part of kernels/.
#include "kernels/resize/generic.h"

namespace octavo {

constexpr WeightedFunctions kWeightedAvx512 = weighted_functions();
constexpr LinearFunctions kLinearAvx512 = linear_functions();
constexpr IntegerLineFunctions kIntegerLinesAvx512 = integer_line_functions();

}  // namespace octavo
