// halves/ for one instruction set. Part of kernels/.
#include "kernels/halves/generic.h"
#include "kernels/isa_of_file.h"

namespace octavo {

template <>
constinit const HalfFunctions CompiledFor<HalfFunctions, kIsa>::table = half_functions();

}  // namespace octavo
