// byte_product/ for the dot products of aarch64. Part of kernels/.
#include "kernels/byte_product/generic.h"
#include "kernels/compiled_for.h"
#include "kernels/float/sums.h"
#include "kernels/simd/neon_dot.h"

namespace octavo {
namespace {

// Whoever has dot products has what float/ finishes sums by.
void byte_product_arm64_dotprod_finish(const RowEpilogue& epilogue, const std::int32_t* sums, std::int64_t rows,
                                       std::int64_t n, void* y) {
  CompiledFor<SumFunctions, Isa::neon>::table.finish(epilogue, sums, rows, n, y);
}

}  // namespace

constexpr ByteProductFunctions kByteProductDotprod{.multiply = &multiply<NeonDot, 4>,
                                                   .finish = &byte_product_arm64_dotprod_finish};

}  // namespace octavo
