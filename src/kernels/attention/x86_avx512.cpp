// attention/ for AVX-512. Part of kernels/.
#include "kernels/attention/generic.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr AttentionFunctions kAttentionAvx512 = attention_functions<Avx512>();

}  // namespace octavo
