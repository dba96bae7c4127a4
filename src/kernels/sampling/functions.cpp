// sampling/ for one instruction set. Part of kernels/.
#include "kernels/isa_of_file.h"
#include "kernels/sampling/generic.h"

namespace octavo {

template <>
constinit const SampleFunctions CompiledFor<SampleFunctions, kIsa>::table = sample_functions();

}  // namespace octavo
