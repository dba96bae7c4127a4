// table/ for one instruction set. Part of kernels/.
#include "kernels/simd/of_file.h"
#include "kernels/table/lookup.h"

namespace octavo {
namespace {

// A load per element; the table stays in L1. Gathers are not faster.
void lookup_words(const std::uint32_t* table, const std::uint8_t* x, std::uint32_t* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace

template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, kIsa>::table = {.bytes = &Simd::lookup,
                                                                             .words = &lookup_words};

}  // namespace octavo
