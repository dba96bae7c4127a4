// eltwise/ for AVX-512. Part of kernels/.
#include "kernels/eltwise/generic.h"
#include "kernels/simd/fixed_avx512.h"

namespace octavo {

constexpr EltwiseFunctions kEltwiseAvx512 = eltwise_functions<Avx512>();

}  // namespace octavo
