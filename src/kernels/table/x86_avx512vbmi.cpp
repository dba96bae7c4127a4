// table/ for AVX-512 VBMI. Part of kernels/.
#include "kernels/compiled_for.h"
#include "kernels/simd/avx512.h"
#include "kernels/table/lookup.h"

namespace octavo {
namespace {

// A load per element; the table stays in L1. Gathers are not faster.
void lookup_words(const std::uint32_t* table, const std::uint8_t* x, std::uint32_t* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

// 256 entries in registers.
struct ByteTable {
  explicit ByteTable(const std::byte* table) {
    for (int i = 0; i < 4; ++i) quarters[i] = _mm512_loadu_si512(table + 64 * i);
  }
  __m512i of(__m512i index) const {
    const __m512i low = _mm512_permutex2var_epi8(quarters[0], index, quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarters[2], index, quarters[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  }
  __m512i quarters[4];
};

constexpr __mmask64 first_lanes(std::int64_t n) { return (__mmask64{1} << n) - 1; }  // n < 64

}  // namespace

template <>
constinit const LookupFunctions CompiledFor<LookupFunctions, Isa::avx512vbmi>::table = {.bytes = &Avx512::lookup,
                                                                                        .words = &lookup_words};

// 21 pixels at a time: lane 3 p + c is channel c of pixel p, looked up in all three tables.
void lookup_three_avx512vbmi(const ChannelLookup& lookup, const std::uint8_t* x, std::byte* y, std::int64_t pixels) {
  constexpr std::int64_t kPixels = 21;
  constexpr __mmask64 kSecond = 0x2492492492492492, kThird = 0x4924924924924924;
  const ByteTable first(lookup.table), second(lookup.table + 256), third(lookup.table + 512);
  alignas(64) std::uint8_t sources[64] = {};
  for (std::int64_t lane = 0; lane < 3 * kPixels; ++lane)
    sources[lane] = static_cast<std::uint8_t>(lane / 3 * lookup.from + lookup.channels[lane % 3]);
  const __m512i source = _mm512_load_si512(sources);
  for (std::int64_t p = 0; p < pixels; p += kPixels) {
    const std::int64_t count = pixels - p < kPixels ? pixels - p : kPixels;
    const __m512i pixel = _mm512_maskz_loadu_epi8(first_lanes(count * lookup.from), x + p * lookup.from);
    const __m512i index = _mm512_permutexvar_epi8(source, pixel);
    const __m512i two = _mm512_mask_blend_epi8(kSecond, first.of(index), second.of(index));
    _mm512_mask_storeu_epi8(y + 3 * p, first_lanes(3 * count), _mm512_mask_blend_epi8(kThird, two, third.of(index)));
  }
}

}  // namespace octavo
