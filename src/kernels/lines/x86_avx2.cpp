// lines/ for AVX2. Part of kernels/.
#include "kernels/lines/generic.h"
#include "kernels/simd/avx2.h"

namespace octavo {

constexpr LineFunctions kLinesAvx2 = line_functions<Avx2>();

}  // namespace octavo
