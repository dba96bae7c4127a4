// eltwise/ for AVX2. Part of kernels/.
#include "kernels/eltwise/generic.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {

constexpr EltwiseFunctions kEltwiseAvx2 = eltwise_functions<Avx2>();

}  // namespace octavo
