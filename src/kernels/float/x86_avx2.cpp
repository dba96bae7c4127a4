// float/ for AVX2. Part of kernels/.
#include "kernels/float/generic.h"

namespace octavo {

constexpr SumFunctions kSumsAvx2 = sum_functions<32>();

}  // namespace octavo
