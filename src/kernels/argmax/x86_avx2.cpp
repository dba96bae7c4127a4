// argmax/ for AVX2. Part of kernels/.
#include "kernels/argmax/generic.h"

namespace octavo {

constexpr ArgmaxFunctions kArgmaxAvx2 = argmax_functions();

}  // namespace octavo
