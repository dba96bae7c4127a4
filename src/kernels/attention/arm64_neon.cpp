// attention/ for Advanced SIMD. Part of kernels/.
#include "kernels/attention/generic.h"
#include "kernels/simd/neon.h"

namespace octavo {

constexpr AttentionFunctions kAttentionNeon = attention_functions<Neon>();

}  // namespace octavo
