// attention/ for AVX2. Part of kernels/.
#include "kernels/attention/generic.h"
#include "kernels/simd/avx2.h"

namespace octavo {

constexpr AttentionFunctions kAttentionAvx2 = attention_functions<Avx2>();

}  // namespace octavo
