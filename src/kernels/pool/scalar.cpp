// pool/ for portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/pool/generic.h"

namespace octavo {

constexpr PoolFunctions kPoolScalar = pool_functions<Scalar>();

}  // namespace octavo
