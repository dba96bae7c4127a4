// fixed/ for AVX2. Part of kernels/.
#include "kernels/fixed/generic.h"
#include "kernels/fixed/lanes_avx2.h"

namespace octavo {

constexpr FixedFunctions kFixedAvx2 = fixed_functions<Avx2>();

}  // namespace octavo
