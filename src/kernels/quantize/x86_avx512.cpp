// quantize/ for AVX-512. Part of kernels/.
#include "kernels/quantize/generic.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr QuantizeFunctions kQuantizeAvx512 = quantize_functions<Avx512>();

}  // namespace octavo
