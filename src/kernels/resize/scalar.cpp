// resize/ for portable C++. Part of kernels/.
#include "kernels/resize/generic.h"

namespace octavo {

constexpr WeightedFunctions kWeightedScalar = weighted_functions();
constexpr LinearFunctions kLinearScalar = linear_functions();
constexpr IntegerLineFunctions kIntegerLinesScalar = integer_line_functions();

}  // namespace octavo
