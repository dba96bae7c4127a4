// halves/ for AVX2. Part of kernels/.
#include "kernels/halves/generic.h"

namespace octavo {

constexpr HalfFunctions kHalvesAvx2 = half_functions();

}  // namespace octavo
