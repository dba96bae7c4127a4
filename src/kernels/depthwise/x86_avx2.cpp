// depthwise/ position by position for AVX2. Part of kernels/.
#include "kernels/depthwise/generic.h"
#include "kernels/depthwise/pairs_avx2.h"
#include "kernels/simd/avx2.h"

namespace octavo {

constexpr DepthwiseFunctions kDepthwiseAvx2 = depthwise_functions<Avx2, accumulate_pairs>();

}  // namespace octavo
