// halves/ for AVX-512. Part of kernels/.
#include "kernels/halves/generic.h"

namespace octavo {

constexpr HalfFunctions kHalvesAvx512 = half_functions();

}  // namespace octavo
