// move/ for one instruction set. Part of kernels/.
#include "kernels/isa_of_file.h"
#include "kernels/move/generic.h"

namespace octavo {

template <>
constinit const PlaneFunctions CompiledFor<PlaneFunctions, kIsa>::table = plane_functions();

}  // namespace octavo
