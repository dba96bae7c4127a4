// sampling/ for portable C++. Part of kernels/.
#include "kernels/sampling/generic.h"

namespace octavo {

constexpr SampleFunctions kSampleScalar = sample_functions();

}  // namespace octavo
