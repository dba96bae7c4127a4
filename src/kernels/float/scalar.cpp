// float/ for portable C++. Part of kernels/.
#include "kernels/float/generic.h"

namespace octavo {

constexpr SumFunctions kSumsScalar = sum_functions<16, Scalar>();

}  // namespace octavo
