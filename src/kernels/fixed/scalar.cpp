// fixed/ for portable C++. Part of kernels/.
#include "kernels/fixed/generic.h"

namespace octavo {

constexpr FixedFunctions kFixedScalar = fixed_functions<Scalar>();

}  // namespace octavo
