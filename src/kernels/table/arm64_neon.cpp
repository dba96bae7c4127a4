// table/ for Advanced SIMD. Part of kernels/.
#include "kernels/compiled_for.h"
#include "kernels/simd/neon.h"
#include "kernels/table/lookup.h"

namespace octavo {
namespace {

// A load per element; the table stays in L1.
void lookup_words(const std::uint32_t* table, const std::uint8_t* x, std::uint32_t* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

void lookup_bytes(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n) {
  constexpr std::int64_t kAtOnce = 64, kWorthAsking = 1024;
  if (n < kWorthAsking || !flips_sign(table)) return Neon::lookup(table, x, y, n);
  std::int64_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    uint8x16x4_t bytes = vld1q_u8_x4(x + i);
    for (uint8x16_t& some : bytes.val) some = veorq_u8(some, vdupq_n_u8(0x80));
    vst1q_u8_x4(y + i, bytes);
  }
  Neon::lookup(table, x + i, y + i, n - i);
}

}  // namespace

template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, Isa::neon>::table = {.bytes = &lookup_bytes,
                                                                                  .words = &lookup_words};

}  // namespace octavo
