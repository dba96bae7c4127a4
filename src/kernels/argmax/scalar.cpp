// argmax/ for portable C++. Part of kernels/.
#include "kernels/argmax/generic.h"

namespace octavo {

constexpr ArgmaxFunctions kArgmaxScalar = argmax_functions();

}  // namespace octavo
