// integer_norm/ for any machine. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/integer_norm/generic.h"

namespace octavo {

constexpr NormFunctions kNormScalar = norm_functions<Scalar>();

}  // namespace octavo
