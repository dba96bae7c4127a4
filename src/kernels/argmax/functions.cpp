// argmax/ for one instruction set. Part of kernels/.
#include "kernels/argmax/generic.h"
#include "kernels/isa_of_file.h"

namespace octavo {

template <>
constinit const ArgmaxFunctions CompiledFor<ArgmaxFunctions, kIsa>::table = argmax_functions();

}  // namespace octavo
