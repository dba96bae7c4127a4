// fixed/ for AVX-512. Part of kernels/.
#include "kernels/fixed/generic.h"
#include "kernels/fixed/lanes_avx512.h"

namespace octavo {

constexpr FixedFunctions kFixedAvx512 = fixed_functions<Avx512>();

}  // namespace octavo
