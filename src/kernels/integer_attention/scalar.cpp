// integer_attention/ for any machine. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/integer_attention/pairs.h"

namespace octavo {

constexpr HeadFunctions kHeadScalar = head_functions<Scalar, Pairs<Scalar>, 1>();

}  // namespace octavo
