// integer_attention/ for one instruction set. Part of kernels/.
#include <type_traits>

#include "kernels/integer_attention/pairs.h"
#include "kernels/integer_attention/quads.h"
#include "kernels/simd/of_file.h"

namespace octavo {
namespace {

constexpr bool kHasDots = kIsa == Isa::avxvnni || kIsa == Isa::avx512vnni || kIsa == Isa::dotprod;
using ProductsOfIsa = std::conditional_t<kHasDots, Quads<Simd>, Pairs<Simd>>;
constexpr int kRows = Simd::kLanes == 1 ? 1 : Simd::kLanes / 2;  // whose sums registers hold

}  // namespace

template <>
constinit const HeadFunctions CompiledFor<HeadFunctions, kIsa>::table = head_functions<Simd, ProductsOfIsa, kRows>();

}  // namespace octavo
