// sampling/ for AVX-512. Part of kernels/.
#include "kernels/sampling/generic.h"

namespace octavo {

constexpr SampleFunctions kSampleAvx512 = sample_functions();

}  // namespace octavo
