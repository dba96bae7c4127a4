// quantize/ for AVX2. Part of kernels/.
#include "kernels/quantize/generic.h"
#include "kernels/simd/avx2.h"

namespace octavo {

constexpr QuantizeFunctions kQuantizeAvx2 = quantize_functions<Avx2>();

}  // namespace octavo
