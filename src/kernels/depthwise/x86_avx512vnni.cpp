// depthwise/ in strips of four interleaved rows: AVX-512 VNNI. Part of kernels/.
//
// A strip column holds four vectors (quarters) per group of rows:  strip[group][column][quarter][lane] = {row 0, row 1, row 2, row 3} of a channel.
// Four output positions are accumulated at a time: 4 positions x 4 quarters = 16 registers; weights and strip come from L1.
#include <immintrin.h>

#include "kernels/depthwise/rows.h"

namespace octavo {
namespace {

struct Zmm {
  static constexpr std::int64_t kBytes = 64;
  using I = __m512i;
  using F = __m512;
  static I load(const void* p) { return _mm512_loadu_si512(p); }
  static void store(void* p, I x) { _mm512_storeu_si512(p, x); }
  static F load_f32(const float* p) { return _mm512_loadu_ps(p); }
  static I set8(std::uint8_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static I set16(std::int16_t x) { return _mm512_set1_epi16(x); }
  static F set_f32(float x) { return _mm512_set1_ps(x); }
  static I bit_xor(I a, I b) { return _mm512_xor_si512(a, b); }
  static I low8(I a, I b) { return _mm512_unpacklo_epi8(a, b); }
  static I high8(I a, I b) { return _mm512_unpackhi_epi8(a, b); }
  static I low16(I a, I b) { return _mm512_unpacklo_epi16(a, b); }
  static I high16(I a, I b) { return _mm512_unpackhi_epi16(a, b); }
  static I dot(I acc, I x, I w) { return _mm512_dpbusd_epi32(acc, x, w); }
  static F to_f32(I x) { return _mm512_cvtepi32_ps(x); }
  static I round(F x) { return _mm512_cvtps_epi32(x); }
  static F add_f32(F a, F b) { return _mm512_add_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static I pack32(I a, I b) { return _mm512_packs_epi32(a, b); }
  static I pack_u8(I a, I b) { return _mm512_packus_epi16(a, b); }
  static I pack_s8(I a, I b) { return _mm512_packs_epi16(a, b); }
  static I add16(I a, I b) { return _mm512_adds_epi16(a, b); }
  static I max16(I a, I b) { return _mm512_max_epi16(a, b); }
};

struct Ymm {
  static constexpr std::int64_t kBytes = 32;
  using I = __m256i;
  using F = __m256;
  static I load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store(void* p, I x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
  static F load_f32(const float* p) { return _mm256_loadu_ps(p); }
  static I set8(std::uint8_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static I set16(std::int16_t x) { return _mm256_set1_epi16(x); }
  static F set_f32(float x) { return _mm256_set1_ps(x); }
  static I bit_xor(I a, I b) { return _mm256_xor_si256(a, b); }
  static I low8(I a, I b) { return _mm256_unpacklo_epi8(a, b); }
  static I high8(I a, I b) { return _mm256_unpackhi_epi8(a, b); }
  static I low16(I a, I b) { return _mm256_unpacklo_epi16(a, b); }
  static I high16(I a, I b) { return _mm256_unpackhi_epi16(a, b); }
  static I dot(I acc, I x, I w) { return _mm256_dpbusd_epi32(acc, x, w); }
  static F to_f32(I x) { return _mm256_cvtepi32_ps(x); }
  static I round(F x) { return _mm256_cvtps_epi32(x); }
  static F add_f32(F a, F b) { return _mm256_add_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static I pack32(I a, I b) { return _mm256_packs_epi32(a, b); }
  static I pack_u8(I a, I b) { return _mm256_packus_epi16(a, b); }
  static I pack_s8(I a, I b) { return _mm256_packs_epi16(a, b); }
  static I add16(I a, I b) { return _mm256_adds_epi16(a, b); }
  static I max16(I a, I b) { return _mm256_max_epi16(a, b); }
};

struct Xmm {
  static constexpr std::int64_t kBytes = 16;
  using I = __m128i;
  using F = __m128;
  static I load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static void store(void* p, I x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
  static F load_f32(const float* p) { return _mm_loadu_ps(p); }
  static I set8(std::uint8_t x) { return _mm_set1_epi8(static_cast<char>(x)); }
  static I set16(std::int16_t x) { return _mm_set1_epi16(x); }
  static F set_f32(float x) { return _mm_set1_ps(x); }
  static I bit_xor(I a, I b) { return _mm_xor_si128(a, b); }
  static I low8(I a, I b) { return _mm_unpacklo_epi8(a, b); }
  static I high8(I a, I b) { return _mm_unpackhi_epi8(a, b); }
  static I low16(I a, I b) { return _mm_unpacklo_epi16(a, b); }
  static I high16(I a, I b) { return _mm_unpackhi_epi16(a, b); }
  static I dot(I acc, I x, I w) { return _mm_dpbusd_epi32(acc, x, w); }
  static F to_f32(I x) { return _mm_cvtepi32_ps(x); }
  static I round(F x) { return _mm_cvtps_epi32(x); }
  static F add_f32(F a, F b) { return _mm_add_ps(a, b); }
  static F mul(F a, F b) { return _mm_mul_ps(a, b); }
  static F min(F a, F b) { return _mm_min_ps(a, b); }
  static I pack32(I a, I b) { return _mm_packs_epi32(a, b); }
  static I pack_u8(I a, I b) { return _mm_packus_epi16(a, b); }
  static I pack_s8(I a, I b) { return _mm_packs_epi16(a, b); }
  static I add16(I a, I b) { return _mm_adds_epi16(a, b); }
  static I max16(I a, I b) { return _mm_max_epi16(a, b); }
};

template <class V>
void store_column(typename V::I r0, typename V::I r1, typename V::I r2, typename V::I r3, std::uint8_t* to) {
  const typename V::I low01 = V::low8(r0, r1), high01 = V::high8(r0, r1);
  const typename V::I low23 = V::low8(r2, r3), high23 = V::high8(r2, r3);
  V::store(to, V::low16(low01, low23));
  V::store(to + V::kBytes, V::high16(low01, low23));
  V::store(to + 2 * V::kBytes, V::low16(high01, high23));
  V::store(to + 3 * V::kBytes, V::high16(high01, high23));
}

template <class V>
void interleave_group(const VnniStrip& s, const std::uint8_t* const* rows, std::uint8_t* to) {
  const typename V::I flip = V::set8(s.flip), outside = V::set8(s.padding ^ s.flip);
  alignas(64) std::uint8_t padding[V::kBytes];
  V::store(padding, V::set8(s.padding));
  const std::uint8_t* from[4];
  std::int64_t step[4];
  for (int r = 0; r < 4; ++r) {
    from[r] = rows[r] != nullptr ? rows[r] : padding;
    step[r] = rows[r] != nullptr ? s.column_stride : 0;
  }
  constexpr std::int64_t kColumn = 4 * V::kBytes;
  for (std::int64_t c = 0; c < s.first_inside; ++c) store_column<V>(outside, outside, outside, outside, to + c * kColumn);
  for (std::int64_t c = s.first_inside; c < s.end_inside; ++c) {
    typename V::I row[4];
    for (int r = 0; r < 4; ++r) row[r] = V::bit_xor(V::load(from[r] + (c - s.first_inside) * step[r]), flip);
    store_column<V>(row[0], row[1], row[2], row[3], to + c * kColumn);
  }
  for (std::int64_t c = s.end_inside; c < s.columns; ++c) store_column<V>(outside, outside, outside, outside, to + c * kColumn);
}

template <class V>
void interleave(const VnniStrip& strip) {
  for (std::int64_t g = 0; g < strip.groups; ++g) interleave_group<V>(strip, strip.rows + 4 * g, strip.strip + g * strip.columns * 4 * V::kBytes);
}

// The bounds as the rounding needs them. A value above the range is cut in f32, where it cannot overflow; below the range, and for NaN,
// cvtps2dq gives the lowest integer and the saturating steps keep it lowest.
template <class V>
struct Bounds {
  typename V::F highest;
  typename V::I zero_point, lowest;
};

template <class V>
typename V::I quantized_quarter(typename V::I acc, const VnniRow& row, std::int64_t lane, typename V::F highest) {
  typename V::F sum = V::to_f32(acc);
  if (row.rest != nullptr) sum = V::add_f32(sum, V::load_f32(row.rest + lane));
  // minps gives its second operand where one is NaN.
  return V::round(V::min(highest, V::mul(sum, V::load_f32(row.multiplier + lane))));
}

template <class V>
void store_position(const VnniRow& row, const typename V::I (&acc)[4], const Bounds<V>& bounds, std::uint8_t* y) {
  constexpr std::int64_t kLanes = V::kBytes / 4;
  typename V::I q[4];
  for (int i = 0; i < 4; ++i) q[i] = quantized_quarter<V>(acc[i], row, i * kLanes, bounds.highest);
  const typename V::I low = V::max16(V::add16(V::pack32(q[0], q[1]), bounds.zero_point), bounds.lowest);
  const typename V::I high = V::max16(V::add16(V::pack32(q[2], q[3]), bounds.zero_point), bounds.lowest);
  V::store(y, row.to_signed ? V::pack_s8(low, high) : V::pack_u8(low, high));
}

// Accumulators in channel order: 16 bytes of vector `quarter` are four neighbouring channels.
template <class V>
void store_sums(const typename V::I (&acc)[4], std::int32_t* to) {
  alignas(64) std::int32_t lanes[V::kBytes / 4];
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    V::store(lanes, acc[quarter]);
    for (std::int64_t lane = 0; lane < V::kBytes / 4; lane += 4) {
      const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + lane));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + vnni_channel(quarter, lane)), four);
    }
  }
}

// kWidth: the kernel's width where it is known here, else 0.
template <class V, int kWidth>
void four_positions(const VnniRow& row, std::int64_t first, std::int64_t count, const Bounds<V>& bounds) {
  constexpr std::int64_t kLanes = V::kBytes / 4;
  constexpr std::int64_t kColumn = 4 * V::kBytes;
  const std::int64_t width = kWidth == 0 ? row.kernel_width : kWidth;
  typename V::I acc[4][4];
  for (int q = 0; q < 4; ++q) {
    const typename V::I bias = V::load(row.bias + q * kLanes);
    for (int t = 0; t < 4; ++t) acc[t][q] = bias;
  }
  const std::int8_t* w = row.weights;
  for (std::int64_t g = 0; g < row.groups; ++g) {
    const std::uint8_t* x = row.strip + (g * row.columns + first * row.stride) * kColumn;
    for (std::int64_t kw = 0; kw < width; ++kw) {
      for (int q = 0; q < 4; ++q) {
        const typename V::I weights = V::load(w + q * V::kBytes);
        for (int t = 0; t < 4; ++t) acc[t][q] = V::dot(acc[t][q], V::load(x + t * row.stride * kColumn + q * V::kBytes), weights);
      }
      w += kColumn;
      x += row.dilation * kColumn;
    }
  }
  for (int t = 0; t < 4; ++t) {
    if (t >= count) continue;
    if (row.sums != nullptr) store_sums<V>(acc[t], row.sums + (first + t) * V::kBytes);
    else store_position<V>(row, acc[t], bounds, row.y + (first + t) * row.y_stride);
  }
}

template <class V, int kWidth>
void all_positions(const VnniRow& row) {
  const Bounds<V> bounds{V::set_f32(static_cast<float>(row.highest - row.zero_point)), V::set16(static_cast<std::int16_t>(row.zero_point)),
                         V::set16(static_cast<std::int16_t>(row.lowest))};
  for (std::int64_t first = 0; first < row.count; first += 4) four_positions<V, kWidth>(row, first, row.count - first, bounds);
}

template <class V>
void run_row(const VnniRow& row) {
  switch (row.kernel_width) {
    case 3: return all_positions<V, 3>(row);
    case 5: return all_positions<V, 5>(row);
    default: return all_positions<V, 0>(row);
  }
}

template <class V>
constexpr VnniFunctions vnni_functions() {
  return {.interleave = &interleave<V>, .row = &run_row<V>};
}

}  // namespace

constexpr VnniFunctions kVnniDepthwise[3] = {vnni_functions<Zmm>(), vnni_functions<Ymm>(), vnni_functions<Xmm>()};

}  // namespace octavo
