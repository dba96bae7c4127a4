// pool/ for one instruction set. Part of kernels/.
#include "kernels/pool/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {

template <>
constinit const PoolFunctions CompiledFor<PoolFunctions, kIsa>::table = pool_functions<Simd>();

}  // namespace octavo
