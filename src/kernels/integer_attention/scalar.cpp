// integer_attention/ for any machine. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/integer_attention/generic.h"

namespace octavo {

constexpr HeadFunctions kHeadScalar = head_functions<Scalar, 1>();

}  // namespace octavo
