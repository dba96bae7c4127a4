// eltwise/ for portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/eltwise/generic.h"

namespace octavo {

constexpr EltwiseFunctions kEltwiseScalar = eltwise_functions<Scalar>();

}  // namespace octavo
