// depthwise/ position by position for one instruction set. Part of kernels/.
#include "kernels/depthwise/generic.h"
#include "kernels/simd/of_file.h"
#ifdef __aarch64__
#include "kernels/depthwise/pairs_neon.h"
#else
#include "kernels/depthwise/pairs_avx2.h"
#endif

namespace octavo {

template <>
constinit const DepthwiseFunctions CompiledFor<DepthwiseFunctions, kIsa>::table =
    depthwise_functions<Simd, accumulate_pairs>();

}  // namespace octavo
