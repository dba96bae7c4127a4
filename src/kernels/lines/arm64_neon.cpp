// lines/ for Advanced SIMD. Part of kernels/.
#include "kernels/lines/generic.h"
#include "kernels/simd/neon.h"

namespace octavo {

constexpr LineFunctions kLinesNeon = line_functions<Neon>();

}  // namespace octavo
