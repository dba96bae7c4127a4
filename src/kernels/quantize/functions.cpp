// quantize/ for one instruction set. Part of kernels/.
#include "kernels/quantize/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {

template <>
constinit const QuantizeFunctions CompiledFor<QuantizeFunctions, kIsa>::table = quantize_functions<Simd>();

}  // namespace octavo
