// depthwise/ in strips of four interleaved rows: AVX-512 VNNI. Part of kernels/.
//
// A strip column holds four vectors (quarters) per group of rows:  strip[group][column][quarter][lane] = {row 0, row 1, row 2, row 3} of a channel.
// What one position needs of a window three columns wide stays in registers. Of others, two quarters of four positions are accumulated at a time.
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

constexpr int kPositions = 4;  // that are accumulated at a time, at most

// Accumulators as they are, in channel order: 16 bytes of vector `quarter` are four neighbouring channels.
template <class V>
struct ToSums {
  explicit ToSums(const VnniRow& r) : row(r) {}

  void put(typename V::I acc, std::int64_t quarter, std::int64_t position) const {
    alignas(64) std::int32_t lanes[V::kBytes / 4];
    V::store(lanes, acc);
    for (std::int64_t lane = 0; lane < V::kBytes / 4; lane += 4) {
      const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + lane));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row.sums + position * V::kBytes + vnni_channel(quarter, lane)), four);
    }
  }
  // Both halves of a position come after one another; t: its place among those that are accumulated together.
  void finish(typename V::I a, typename V::I b, int half, int, std::int64_t position) {
    put(a, 2 * half, position);
    put(b, 2 * half + 1, position);
  }

  const VnniRow& row;
};

// Quantized results. A value above the range is cut in f32, where it cannot overflow; below the range, and for NaN, cvtps2dq gives the lowest
// integer and the saturating steps keep it lowest.
template <class V, bool has_rest>
struct ToBytes {
  static constexpr std::int64_t kLanes = V::kBytes / 4;

  explicit ToBytes(const VnniRow& r)
      : row(r),
        highest(V::set_f32(static_cast<float>(r.highest - r.zero_point))),
        zero_point(V::set16(static_cast<std::int16_t>(r.zero_point))),
        lowest(V::set16(static_cast<std::int16_t>(r.lowest))) {
    for (int q = 0; q < 4; ++q) multiplier[q] = V::load_f32(r.multiplier + q * kLanes);
  }

  [[gnu::always_inline]] typename V::I rounded(typename V::I acc, int quarter) const {
    typename V::F sum = V::to_f32(acc);
    if constexpr (has_rest) sum = V::add_f32(sum, V::load_f32(row.rest + quarter * kLanes));
    // minps gives its second operand where one is NaN.
    return V::round(V::min(highest, V::mul(sum, multiplier[quarter])));
  }
  [[gnu::always_inline]] void finish(typename V::I a, typename V::I b, int half, int t, std::int64_t position) {
    const typename V::I words = V::max16(V::add16(V::pack32(rounded(a, 2 * half), rounded(b, 2 * half + 1)), zero_point), lowest);
    if (half == 0) low[t] = words;
    else V::store(row.y + position * row.y_stride, row.to_signed ? V::pack_s8(low[t], words) : V::pack_u8(low[t], words));
  }

  const VnniRow& row;
  typename V::F highest;
  typename V::I zero_point, lowest;
  typename V::F multiplier[4];
  typename V::I low[kPositions];
};

// One group of rows, three columns.
template <class V, class Finish>
void narrow_row(const VnniRow& row) {
  constexpr std::int64_t kLanes = V::kBytes / 4, kColumn = 4 * V::kBytes;
  Finish end(row);
  typename V::I weights[3][4], bias[4];
  for (int q = 0; q < 4; ++q) {
    bias[q] = V::load(row.bias + q * kLanes);
    for (int kw = 0; kw < 3; ++kw) weights[kw][q] = V::load(row.weights + kw * kColumn + q * V::kBytes);
  }
  const std::uint8_t* x = row.strip;
  const std::int64_t tap = row.dilation * kColumn;
  for (std::int64_t position = 0; position < row.count; ++position, x += row.stride * kColumn) {
    typename V::I acc[4] = {bias[0], bias[1], bias[2], bias[3]};
    for (int kw = 0; kw < 3; ++kw) {
      for (int q = 0; q < 4; ++q) acc[q] = V::dot(acc[q], V::load(x + kw * tap + q * V::kBytes), weights[kw][q]);
    }
    end.finish(acc[0], acc[1], 0, 0, position);
    end.finish(acc[2], acc[3], 1, 0, position);
  }
}

// Two quarters of the positions from `first` on. kWidth: the kernel's width where it is known here, else 0.
template <class V, int kWidth, class Finish>
void add_half(const VnniRow& row, std::int64_t first, int half, Finish& end) {
  constexpr std::int64_t kLanes = V::kBytes / 4, kColumn = 4 * V::kBytes;
  const std::int64_t width = kWidth == 0 ? row.kernel_width : kWidth, tap = row.dilation * kColumn, step = row.stride * kColumn;
  typename V::I acc[kPositions][2];
  for (int t = 0; t < kPositions; ++t) {
    for (int i = 0; i < 2; ++i) acc[t][i] = V::load(row.bias + (2 * half + i) * kLanes);
  }
  const std::int8_t* w = row.weights + 2 * half * V::kBytes;
  for (std::int64_t g = 0; g < row.groups; ++g) {
    const std::uint8_t* x = row.strip + g * row.columns * kColumn + first * step + 2 * half * V::kBytes;
    for (std::int64_t kw = 0; kw < width; ++kw) {
      for (int i = 0; i < 2; ++i) {
        const typename V::I weights = V::load(w + i * V::kBytes);
        for (int t = 0; t < kPositions; ++t) acc[t][i] = V::dot(acc[t][i], V::load(x + t * step + i * V::kBytes), weights);
      }
      w += kColumn;
      x += tap;
    }
  }
  for (int t = 0; t < kPositions; ++t) {
    if (first + t < row.count) end.finish(acc[t][0], acc[t][1], half, t, first + t);
  }
}

template <class V, int kWidth, class Finish>
void wide_row(const VnniRow& row) {
  Finish end(row);
  for (std::int64_t first = 0; first < row.count; first += kPositions) {
    add_half<V, kWidth>(row, first, 0, end);
    add_half<V, kWidth>(row, first, 1, end);
  }
}

template <class V, class Finish>
void finished_row(const VnniRow& row) {
  if (row.groups == 1 && row.kernel_width == 3) return narrow_row<V, Finish>(row);
  row.kernel_width == 5 ? wide_row<V, 5, Finish>(row) : wide_row<V, 0, Finish>(row);
}

template <class V>
void run_row(const VnniRow& row) {
  if (row.sums != nullptr) return finished_row<V, ToSums<V>>(row);
  row.rest != nullptr ? finished_row<V, ToBytes<V, true>>(row) : finished_row<V, ToBytes<V, false>>(row);
}

// From one position after the other to where each has its place.
template <class V>
void spread(const std::uint8_t* from, const VnniRow& row) {
  for (std::int64_t position = 0; position < row.count; ++position) V::store(row.y + position * row.y_stride, V::load(from + position * V::kBytes));
}

template <class V>
constexpr VnniFunctions vnni_functions() {
  return {.interleave = &interleave<V>, .row = &run_row<V>, .spread = &spread<V>};
}

}  // namespace

constexpr VnniFunctions kVnniDepthwise[3] = {vnni_functions<Zmm>(), vnni_functions<Ymm>(), vnni_functions<Xmm>()};

}  // namespace octavo
