// depthwise/ position by position for AVX-512. Part of kernels/.
#include "kernels/depthwise/generic.h"
#include "kernels/depthwise/pairs_avx2.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr DepthwiseFunctions kDepthwiseAvx512 = depthwise_functions<Avx512, accumulate_pairs>();

}  // namespace octavo
