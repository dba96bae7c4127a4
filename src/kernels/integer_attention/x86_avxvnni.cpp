// integer_attention/ for AVX-VNNI. Part of kernels/.
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/avxvnni.h"

namespace octavo {

constexpr HeadFunctions kHeadAvxVnni = head_functions<AvxVnni, Quads<AvxVnni>, 4>();

}  // namespace octavo
