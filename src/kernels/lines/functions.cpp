// lines/ for one instruction set. Part of kernels/.
#include "kernels/lines/generic.h"
#include "kernels/simd/of_file.h"

namespace octavo {

template <>
constinit const LineFunctions CompiledFor<LineFunctions, kIsa>::table = line_functions<Simd>();

}  // namespace octavo
