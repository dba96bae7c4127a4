// depthwise/ in strips of four interleaved rows: AVX-512 VNNI. Part of kernels/.
//
// A strip holds four quarters per group of rows:  strip[group][quarter][phase][column][lane] = {row 0, row 1, row 2, row 3} of a channel;
// neighbouring positions read neighbouring columns of a phase, whatever the stride. A quarter of 64 channels is a register; where there are fewer, a
// register takes two or four positions at once. What they need of a window three columns wide stays in registers. Of others, two quarters of four
// registers are accumulated at a time.
#include <immintrin.h>

#include "kernels/depthwise/rows.h"

namespace octavo {
namespace {

struct Zmm {
  static constexpr std::int64_t kBytes = 64;
  using I = __m512i;
  static I load(const void* p) { return _mm512_loadu_si512(p); }
  static void store(void* p, I x) { _mm512_storeu_si512(p, x); }
  static I set8(std::uint8_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static I bit_xor(I a, I b) { return _mm512_xor_si512(a, b); }
  static I low8(I a, I b) { return _mm512_unpacklo_epi8(a, b); }
  static I high8(I a, I b) { return _mm512_unpackhi_epi8(a, b); }
  static I low16(I a, I b) { return _mm512_unpacklo_epi16(a, b); }
  static I high16(I a, I b) { return _mm512_unpackhi_epi16(a, b); }
};

struct Ymm {
  static constexpr std::int64_t kBytes = 32;
  using I = __m256i;
  static I load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store(void* p, I x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
  static I set8(std::uint8_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static I bit_xor(I a, I b) { return _mm256_xor_si256(a, b); }
  static I low8(I a, I b) { return _mm256_unpacklo_epi8(a, b); }
  static I high8(I a, I b) { return _mm256_unpackhi_epi8(a, b); }
  static I low16(I a, I b) { return _mm256_unpacklo_epi16(a, b); }
  static I high16(I a, I b) { return _mm256_unpackhi_epi16(a, b); }
};

struct Xmm {
  static constexpr std::int64_t kBytes = 16;
  using I = __m128i;
  static I load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static void store(void* p, I x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
  static I set8(std::uint8_t x) { return _mm_set1_epi8(static_cast<char>(x)); }
  static I bit_xor(I a, I b) { return _mm_xor_si128(a, b); }
  static I low8(I a, I b) { return _mm_unpacklo_epi8(a, b); }
  static I high8(I a, I b) { return _mm_unpackhi_epi8(a, b); }
  static I low16(I a, I b) { return _mm_unpacklo_epi16(a, b); }
  static I high16(I a, I b) { return _mm_unpackhi_epi16(a, b); }
};

template <class V>
void store_column(typename V::I r0, typename V::I r1, typename V::I r2, typename V::I r3, std::uint8_t* to, std::int64_t quarter_bytes) {
  const typename V::I low01 = V::low8(r0, r1), high01 = V::high8(r0, r1);
  const typename V::I low23 = V::low8(r2, r3), high23 = V::high8(r2, r3);
  V::store(to, V::low16(low01, low23));
  V::store(to + quarter_bytes, V::high16(low01, low23));
  V::store(to + 2 * quarter_bytes, V::low16(high01, high23));
  V::store(to + 3 * quarter_bytes, V::high16(high01, high23));
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
  for (std::int64_t phase = 0; phase < s.phases; ++phase, to += s.phase_columns * V::kBytes) {
    std::uint8_t* place = to;
    for (std::int64_t c = phase; c < s.columns; c += s.phases, place += V::kBytes) {
      if (c < s.first_inside || c >= s.end_inside) {
        store_column<V>(outside, outside, outside, outside, place, s.quarter_columns() * V::kBytes);
        continue;
      }
      typename V::I row[4];
      for (int r = 0; r < 4; ++r) row[r] = V::bit_xor(V::load(from[r] + (c - s.first_inside) * step[r]), flip);
      store_column<V>(row[0], row[1], row[2], row[3], place, s.quarter_columns() * V::kBytes);
    }
  }
}

template <class V>
void interleave(const VnniStrip& strip) {
  for (std::int64_t g = 0; g < strip.groups; ++g)
    interleave_group<V>(strip, strip.rows + 4 * g, strip.strip + g * 4 * strip.quarter_columns() * V::kBytes);
}

// 64 / kPositions bytes, as often as they fit into a register.
template <int kPositions>
__m512i load_repeated(const void* p) {
  if constexpr (kPositions == 1) return _mm512_loadu_si512(p);
  if constexpr (kPositions == 2) return _mm512_broadcast_i64x4(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}

// Accumulators as they are, in channel order: 16 bytes of vector `quarter` are four neighbouring channels.
template <int kPositions>
struct ToSums {
  static constexpr std::int64_t kBlock = 64 / kPositions, kLanes = 16 / kPositions;

  explicit ToSums(const VnniRow& r) : row(r) {}

  void put(__m512i acc, std::int64_t quarter, std::int64_t position) const {
    alignas(64) std::int32_t lanes[16];
    _mm512_store_si512(lanes, acc);
    for (std::int64_t lane = 0; lane < 16 && position + lane / kLanes < row.count; lane += 4) {
      const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + lane));
      std::int32_t* sums = row.sums + (position + lane / kLanes) * kBlock;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + vnni_channel(quarter, lane % kLanes)), four);
    }
  }
  void finish(const __m512i (&acc)[4], std::int64_t position) const {
    for (int q = 0; q < 4; ++q) put(acc[q], q, position);
  }

  const VnniRow& row;
};

// Quantized results. A value above the range is cut in f32, where it cannot overflow; below the range, and for NaN, cvtps2dq gives the lowest
// integer and the saturating steps keep it lowest.
template <int kPositions, bool has_rest>
struct ToBytes {
  static constexpr std::int64_t kBlock = 64 / kPositions, kLanes = 16 / kPositions;

  explicit ToBytes(const VnniRow& r)
      : row(r),
        highest(_mm512_set1_ps(static_cast<float>(r.highest - r.zero_point))),
        zero_point(_mm512_set1_epi16(static_cast<std::int16_t>(r.zero_point))),
        lowest(_mm512_set1_epi16(static_cast<std::int16_t>(r.lowest))) {
    for (int q = 0; q < 4; ++q) multiplier[q] = _mm512_castsi512_ps(load_repeated<kPositions>(r.multiplier + q * kLanes));
  }

  [[gnu::always_inline]] __m512i rounded(__m512i acc, int quarter) const {
    __m512 sum = _mm512_cvtepi32_ps(acc);
    if constexpr (has_rest) sum = _mm512_add_ps(sum, _mm512_castsi512_ps(load_repeated<kPositions>(row.rest + quarter * kLanes)));
    // minps gives its second operand where one is NaN.
    return _mm512_cvtps_epi32(_mm512_min_ps(highest, _mm512_mul_ps(sum, multiplier[quarter])));
  }
  [[gnu::always_inline]] __m512i words(__m512i a, __m512i b, int first_quarter) const {
    const __m512i packed = _mm512_packs_epi32(rounded(a, first_quarter), rounded(b, first_quarter + 1));
    return _mm512_max_epi16(_mm512_adds_epi16(packed, zero_point), lowest);
  }
  [[gnu::always_inline]] void finish(const __m512i (&acc)[4], std::int64_t position) const {
    const __m512i low = words(acc[0], acc[1], 0), high = words(acc[2], acc[3], 2);
    store(row.to_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high), position);
  }
  [[gnu::always_inline]] void store(__m512i bytes, std::int64_t position) const {
    std::uint8_t* y = row.y + position * row.y_stride;
    if constexpr (kPositions == 1) {
      _mm512_storeu_si512(y, bytes);
    } else if constexpr (kPositions == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(bytes));
      if (position + 1 < row.count) _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + row.y_stride), _mm512_extracti64x4_epi64(bytes, 1));
    } else {
      const __m128i parts[] = {_mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1), _mm512_extracti32x4_epi32(bytes, 2),
                               _mm512_extracti32x4_epi32(bytes, 3)};
      const std::int64_t count = row.count - position < 4 ? row.count - position : 4;
      for (std::int64_t i = 0; i < count; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i * row.y_stride), parts[i]);
    }
  }

  const VnniRow& row;
  __m512 highest;
  __m512i zero_point, lowest;
  __m512 multiplier[4];
};

// In columns of a quarter.
std::int64_t first_column(const VnniRow& row, std::int64_t kw) { return row.taps[kw].phase * row.phase_columns + row.taps[kw].column; }

// One group of rows, three columns.
template <int kPositions, class Finish>
void narrow_row(const VnniRow& row) {
  constexpr std::int64_t kBlock = 64 / kPositions, kLanes = 16 / kPositions;
  const Finish end(row);
  __m512i weights[3][4], bias[4];
  const std::uint8_t* x[3];
  for (int kw = 0; kw < 3; ++kw) x[kw] = row.strip + first_column(row, kw) * kBlock;
  for (int q = 0; q < 4; ++q) {
    bias[q] = load_repeated<kPositions>(row.bias + q * kLanes);
    for (int kw = 0; kw < 3; ++kw) weights[kw][q] = load_repeated<kPositions>(row.weights + (4 * kw + q) * kBlock);
  }
  const std::int64_t quarter = row.phases * row.phase_columns * kBlock;
  for (std::int64_t position = 0; position < row.count; position += kPositions) {
    __m512i acc[4] = {bias[0], bias[1], bias[2], bias[3]};
    for (int kw = 0; kw < 3; ++kw) {
      for (int q = 0; q < 4; ++q) acc[q] = _mm512_dpbusd_epi32(acc[q], _mm512_loadu_si512(x[kw] + position * kBlock + q * quarter), weights[kw][q]);
    }
    end.finish(acc, position);
  }
}

// Two registers of positions at a time, so that they share the weights. kWidth: the kernel's width where it is known here, else 0.
template <int kPositions, int kWidth, class Finish>
void wide_row(const VnniRow& row) {
  constexpr std::int64_t kBlock = 64 / kPositions, kLanes = 16 / kPositions;
  const Finish end(row);
  const std::int64_t width = kWidth == 0 ? row.kernel_width : kWidth, quarter = row.phases * row.phase_columns * kBlock;
  for (std::int64_t first = 0; first < row.count; first += 2 * kPositions) {
    __m512i left[4], right[4];
    for (int q = 0; q < 4; ++q) left[q] = right[q] = load_repeated<kPositions>(row.bias + q * kLanes);
    const std::int8_t* w = row.weights;
    const std::uint8_t* group = row.strip + first * kBlock;
    for (std::int64_t g = 0; g < row.groups; ++g, group += 4 * quarter) {
      for (std::int64_t kw = 0; kw < width; ++kw, w += 4 * kBlock) {
        const std::uint8_t* x = group + first_column(row, kw) * kBlock;
        for (int q = 0; q < 4; ++q) {
          const __m512i weights = load_repeated<kPositions>(w + q * kBlock);
          left[q] = _mm512_dpbusd_epi32(left[q], _mm512_loadu_si512(x + q * quarter), weights);
          right[q] = _mm512_dpbusd_epi32(right[q], _mm512_loadu_si512(x + q * quarter + 64), weights);
        }
      }
    }
    end.finish(left, first);
    if (first + kPositions < row.count) end.finish(right, first + kPositions);
  }
}

template <int kPositions, class Finish>
void finished_row(const VnniRow& row) {
  if (row.groups == 1 && row.kernel_width == 3) return narrow_row<kPositions, Finish>(row);
  row.kernel_width == 5 ? wide_row<kPositions, 5, Finish>(row) : wide_row<kPositions, 0, Finish>(row);
}

template <int kPositions>
void run_row(const VnniRow& row) {
  if (row.sums != nullptr) return finished_row<kPositions, ToSums<kPositions>>(row);
  row.rest != nullptr ? finished_row<kPositions, ToBytes<kPositions, true>>(row) : finished_row<kPositions, ToBytes<kPositions, false>>(row);
}

// From one position after the other to where each has its place.
template <class V>
void spread(const std::uint8_t* from, const VnniRow& row) {
  for (std::int64_t position = 0; position < row.count; ++position) V::store(row.y + position * row.y_stride, V::load(from + position * V::kBytes));
}

template <class V>
constexpr VnniFunctions vnni_functions() {
  return {.interleave = &interleave<V>, .row = &run_row<64 / V::kBytes>, .spread = &spread<V>};
}

}  // namespace

constexpr VnniFunctions kVnniDepthwise[3] = {vnni_functions<Zmm>(), vnni_functions<Ymm>(), vnni_functions<Xmm>()};

}  // namespace octavo
