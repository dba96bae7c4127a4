// integer_norm/ for one instruction set. Part of kernels/.
#include "kernels/integer_norm/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {

template <>
constinit const NormFunctions CompiledFor<NormFunctions, kIsa>::table = norm_functions<Simd>();

}  // namespace octavo
