// depthwise/ position by position for portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/depthwise/generic.h"

namespace octavo {

constexpr DepthwiseFunctions kDepthwiseScalar = depthwise_functions<Scalar>();

}  // namespace octavo
