// attention/ for one instruction set. Part of kernels/.
#include "kernels/attention/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {

template <>
constinit const AttentionFunctions CompiledFor<AttentionFunctions, kIsa>::table = attention_functions<Simd>();

}  // namespace octavo
