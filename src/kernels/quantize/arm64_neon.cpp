// quantize/ for Advanced SIMD. Part of kernels/.
#include "kernels/quantize/generic.h"
#include "kernels/simd/neon.h"

namespace octavo {

constexpr QuantizeFunctions kQuantizeNeon = quantize_functions<Neon>();

}  // namespace octavo
