// argmax/ for Advanced SIMD. Part of kernels/.
#include "kernels/argmax/generic.h"

namespace octavo {

constexpr ArgmaxFunctions kArgmaxNeon = argmax_functions();

}  // namespace octavo
