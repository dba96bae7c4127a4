// depthwise/ position by position for Advanced SIMD. Part of kernels/.
#include "kernels/depthwise/generic.h"
#include "kernels/depthwise/pairs_neon.h"
#include "kernels/simd/neon.h"

namespace octavo {

constexpr DepthwiseFunctions kDepthwiseNeon = depthwise_functions<Neon, accumulate_pairs>();

}  // namespace octavo
