// lines/ for portable C++. Part of kernels/.
#include "kernels/simd/scalar.h"

#include "kernels/lines/generic.h"

namespace octavo {

constexpr LineFunctions kLinesScalar = line_functions<Scalar>();

}  // namespace octavo
