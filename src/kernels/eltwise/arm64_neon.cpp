// eltwise/ for Advanced SIMD. Part of kernels/.
#include "kernels/compiled_for.h"
#include "kernels/eltwise/generic.h"
#include "kernels/simd/added_bytes_neon.h"
#include "kernels/simd/fixed_neon.h"
#include "kernels/table/lookup.h"

namespace octavo {
namespace {

constexpr int kEltwiseArm64NeonBytes = 16;

// add_integer of u8 with a result of u8, sixteen at a time.
struct ByteSum {
  AddedBytes added;
  uint8x16_t lowest, highest, flips;

  explicit ByteSum(const RowEpilogue& e)
      : added(AddedBytes::of(e.a_factor.multiplier, e.b_factor.multiplier, e.bias, e.right_shift, e.round.after)),
        lowest(vdupq_n_u8(static_cast<std::uint8_t>(e.round.lowest_integer + e.round.after))),
        highest(vdupq_n_u8(static_cast<std::uint8_t>(e.round.highest_integer + e.round.after))),
        flips(vdupq_n_u8(0)) {}

  template <bool kClamps>
  inline __attribute__((always_inline)) void store(const std::uint8_t* a, const std::uint8_t* b,
                                                   std::uint8_t* y) const {
    uint8x16_t sum = added.sum(vld1q_u8(a), vld1q_u8(b));
    if constexpr (kClamps) sum = vminq_u8(vmaxq_u8(sum, lowest), highest);
    vst1q_u8(y, veorq_u8(sum, flips));
  }
};

bool is_byte_sum(const PairRows& p) {
  const RowEpilogue& e = p.epilogue;
  return e.formula == Formula::add_integer && e.right_shift >= AddedBytes::kLeastShift && !p.a_is_signed &&
         !p.b_is_signed && p.a_step == 1 && p.b_step == 1 && e.round.lowest_integer + e.round.after >= 0 &&
         e.round.highest_integer + e.round.after <= 255;
}

template <bool kClamps>
void add_row(const ByteSum& sum, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y, std::int64_t n) {
  const ByteSum s = sum;
  std::int64_t i = 0;
  for (; i + 2 * kEltwiseArm64NeonBytes <= n; i += 2 * kEltwiseArm64NeonBytes) {
    s.store<kClamps>(a + i, b + i, y + i);
    s.store<kClamps>(a + i + kEltwiseArm64NeonBytes, b + i + kEltwiseArm64NeonBytes, y + i + kEltwiseArm64NeonBytes);
  }
  for (; i < n; i += kEltwiseArm64NeonBytes) {
    const std::int64_t left = n - i;
    if (left >= kEltwiseArm64NeonBytes) {
      s.store<kClamps>(a + i, b + i, y + i);
      continue;
    }
    std::uint8_t last[3][kEltwiseArm64NeonBytes] = {};
    std::memcpy(last[0], a + i, static_cast<std::size_t>(left));
    std::memcpy(last[1], b + i, static_cast<std::size_t>(left));
    s.store<kClamps>(last[0], last[1], last[2]);
    std::memcpy(y + i, last[2], static_cast<std::size_t>(left));
  }
}

void neon_pairs(const PairRows& p) {
  if (!is_byte_sum(p)) return pairs<Neon, Sign::asked>(p);
  ByteSum sum(p.epilogue);
  const std::uint8_t* const table = p.epilogue.table;
  const bool flips = table != nullptr && flips_sign(table);
  if (flips) sum.flips = vdupq_n_u8(0x80);
  const bool is_one_row = p.a_row_stride == p.n && p.b_row_stride == p.n;
  const std::int64_t rows = is_one_row ? 1 : p.rows, n = is_one_row ? p.rows * p.n : p.n;
  const auto add = p.epilogue.round.lowest_integer + p.epilogue.round.after == 0 &&
                           p.epilogue.round.highest_integer + p.epilogue.round.after == 255
                       ? &add_row<false>
                       : &add_row<true>;
  for (std::int64_t r = 0; r < rows; ++r) add(sum, p.a + r * p.a_row_stride, p.b + r * p.b_row_stride, p.y + r * n, n);
  if (table != nullptr && !flips) CompiledFor<LookupFunctions, Isa::neon>::table.bytes(table, p.y, p.y, rows * n);
}

}  // namespace

template <>
constinit const EltwiseFunctions CompiledFor<EltwiseFunctions, Isa::neon>::table = eltwise_functions<Neon>(&neon_pairs);

}  // namespace octavo
