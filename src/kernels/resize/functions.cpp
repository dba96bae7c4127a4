// resize/ for one instruction set. Part of kernels/.
#include "kernels/isa_of_file.h"
#include "kernels/resize/generic.h"

namespace octavo {

template <>
constinit const WeightedFunctions CompiledFor<WeightedFunctions, kIsa>::table = weighted_functions();
template <>
constinit const LinearFunctions CompiledFor<LinearFunctions, kIsa>::table = linear_functions();
template <>
constinit const IntegerLineFunctions CompiledFor<IntegerLineFunctions, kIsa>::table = integer_line_functions();

}  // namespace octavo
