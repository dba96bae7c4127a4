// argmax/ for AVX-512. Part of kernels/.
#include "kernels/argmax/generic.h"

namespace octavo {

constexpr ArgmaxFunctions kArgmaxAvx512 = argmax_functions();

}  // namespace octavo
