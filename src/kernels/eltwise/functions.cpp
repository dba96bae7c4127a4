// eltwise/ for one instruction set. Part of kernels/.
#include "kernels/eltwise/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {

template <>
constinit const EltwiseFunctions CompiledFor<EltwiseFunctions, kIsa>::table = eltwise_functions<Simd>();

}  // namespace octavo
