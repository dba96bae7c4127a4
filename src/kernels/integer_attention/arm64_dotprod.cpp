// integer_attention/ for the dot products of aarch64. Part of kernels/.
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/neon_dot.h"

namespace octavo {

constexpr HeadFunctions kHeadDotprod = head_functions<NeonDot, Quads<NeonDot>, 4>();

}  // namespace octavo
