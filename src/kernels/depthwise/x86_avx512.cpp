// depthwise/ position by position for AVX-512. Part of kernels/.
#include "kernels/depthwise/generic.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr DepthwiseFunctions kDepthwiseAvx512 = depthwise_functions<Avx512>();

}  // namespace octavo
