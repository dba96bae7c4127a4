// sampling/ for Advanced SIMD. Part of kernels/.
#include "kernels/sampling/generic.h"

namespace octavo {

constexpr SampleFunctions kSampleNeon = sample_functions();

}  // namespace octavo
