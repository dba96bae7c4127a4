// halves/ for portable C++. Part of kernels/.
#include "kernels/halves/generic.h"

namespace octavo {

constexpr HalfFunctions kHalvesScalar = half_functions();

}  // namespace octavo
