// sampling/ for AVX2. Part of kernels/.
#include "kernels/sampling/generic.h"

namespace octavo {

constexpr SampleFunctions kSampleAvx2 = sample_functions();

}  // namespace octavo
