// integer_norm/ for Advanced SIMD. Part of kernels/.
#include "kernels/integer_norm/generic.h"
#include "kernels/simd/neon.h"

namespace octavo {

constexpr NormFunctions kNormNeon = norm_functions<Neon>();

}  // namespace octavo
