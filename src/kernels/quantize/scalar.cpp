// quantize/ for portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/quantize/generic.h"

namespace octavo {

constexpr QuantizeFunctions kQuantizeScalar = quantize_functions<Scalar>();

}  // namespace octavo
