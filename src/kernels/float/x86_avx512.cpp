// float/ for AVX-512. Part of kernels/.
#include "kernels/float/generic.h"

namespace octavo {

constexpr SumFunctions kSumsAvx512 = sum_functions<64>();

}  // namespace octavo
