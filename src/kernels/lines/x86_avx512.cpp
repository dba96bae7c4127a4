// lines/ for AVX-512. Part of kernels/.
#include "kernels/lines/generic.h"
#include "kernels/simd/avx512.h"

namespace octavo {

constexpr LineFunctions kLinesAvx512 = line_functions<Avx512>();

}  // namespace octavo
