// integer_attention/ for AVX-VNNI in its EVEX encoding. Part of kernels/.
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/evexvnni.h"

namespace octavo {

constexpr HeadFunctions kHeadEvexVnni = head_functions<EvexVnni, Quads<EvexVnni>, 4>();

}  // namespace octavo
