// integer_attention/ for Advanced SIMD. Part of kernels/.
#include "kernels/integer_attention/pairs.h"
#include "kernels/simd/neon.h"

namespace octavo {

constexpr HeadFunctions kHeadNeon = head_functions<Neon, Pairs<Neon>, 4>();

}  // namespace octavo
