// depthwise/ in strips of four interleaved rows: AVX-512 VNNI. Part of kernels/.
//
// A strip holds four quarters per group of rows:  strip[group][quarter][phase][column][lane] = {row 0, row 1, row 2,
// row 3} of a channel; neighbouring positions read neighbouring columns of a phase, whatever the stride. A quarter of
// 64 channels is a register; where there are fewer, a register takes two or four positions at once. What they need of a
// window three columns wide stays in registers. Of others, two quarters of four registers are accumulated at a time.
#include <immintrin.h>

#include "kernels/depthwise/strips.h"

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

// Quantized results. A value above the range is cut in f32, where it cannot overflow; below the range, and for NaN,
// cvtps2dq gives the lowest integer and the saturating steps keep it lowest.
template <int kPositions, bool has_rest>
struct ToBytes {
  static constexpr std::int64_t kBlock = 64 / kPositions, kLanes = 16 / kPositions;

  explicit ToBytes(const VnniRow& r)
      : row(r),
        highest(_mm512_set1_ps(r.epilogue.round.highest)),
        zero_point(_mm512_set1_epi16(static_cast<std::int16_t>(r.epilogue.round.after))),
        lowest(_mm512_set1_epi16(static_cast<std::int16_t>(r.epilogue.round.lowest_integer + r.epilogue.round.after))) {
    for (int q = 0; q < 4; ++q)
      multiplier[q] = _mm512_castsi512_ps(load_repeated<kPositions>(r.epilogue.multiplier + q * kLanes));
  }

  [[gnu::always_inline]] __m512i rounded(__m512i acc, int quarter) const {
    __m512 sum = _mm512_cvtepi32_ps(acc);
    if constexpr (has_rest)
      sum = _mm512_add_ps(sum, _mm512_castsi512_ps(load_repeated<kPositions>(row.epilogue.rest + quarter * kLanes)));
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
      if (position + 1 < row.count)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + row.y_stride), _mm512_extracti64x4_epi64(bytes, 1));
    } else {
      const __m128i parts[] = {_mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1),
                               _mm512_extracti32x4_epi32(bytes, 2), _mm512_extracti32x4_epi32(bytes, 3)};
      const std::int64_t count = row.count - position < 4 ? row.count - position : 4;
      for (std::int64_t i = 0; i < count; ++i)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i * row.y_stride), parts[i]);
    }
  }

  const VnniRow& row;
  __m512 highest;
  __m512i zero_point, lowest;
  __m512 multiplier[4];
};

// In columns of a quarter.
std::int64_t first_column(const VnniRow& row, std::int64_t kw) {
  return row.taps[kw].phase * row.phase_columns + row.taps[kw].column;
}

// One group of rows, three columns, each with one byte of weights or two.
template <int kPositions, int kParts, class Finish>
void narrow_row(const VnniRow& row) {
  constexpr std::int64_t kBlock = 64 / kPositions, kLanes = 16 / kPositions;
  const Finish end(row);
  __m512i weights[3 * kParts][4], bias[4];
  const std::uint8_t* x[3];
  for (int kw = 0; kw < 3; ++kw) x[kw] = row.strip + first_column(row, kw * kParts) * kBlock;
  for (int q = 0; q < 4; ++q) {
    bias[q] = load_repeated<kPositions>(row.bias + q * kLanes);
    for (int i = 0; i < 3 * kParts; ++i) weights[i][q] = load_repeated<kPositions>(row.weights + (4 * i + q) * kBlock);
  }
  const std::int64_t quarter = row.phases * row.phase_columns * kBlock;
  for (std::int64_t position = 0; position < row.count; position += kPositions) {
    __m512i acc[4] = {bias[0], bias[1], bias[2], bias[3]};
    for (int kw = 0; kw < 3; ++kw) {
      for (int q = 0; q < 4; ++q) {
        const __m512i taps = _mm512_loadu_si512(x[kw] + position * kBlock + q * quarter);
        for (int part = 0; part < kParts; ++part)
          acc[q] = _mm512_dpbusd_epi32(acc[q], taps, weights[kParts * kw + part][q]);
      }
    }
    end.finish(acc, position);
  }
}

// Two registers of positions at a time, so that they share the weights. kWidth: the kernel's width where it is known
// here, else 0.
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
  if (row.groups == 1 && row.kernel_width == 3 * row.parts)
    return row.parts == 1 ? narrow_row<kPositions, 1, Finish>(row) : narrow_row<kPositions, 2, Finish>(row);
  row.kernel_width == 5 ? wide_row<kPositions, 5, Finish>(row) : wide_row<kPositions, 0, Finish>(row);
}

template <int kPositions>
void run_row(const VnniRow& row) {
  if (row.sums != nullptr) return finished_row<kPositions, ToSums<kPositions>>(row);
  row.epilogue.rest != nullptr ? finished_row<kPositions, ToBytes<kPositions, true>>(row)
                               : finished_row<kPositions, ToBytes<kPositions, false>>(row);
}

[[gnu::always_inline]] inline void interleave_rows(const __m512i (&rows)[4], __m512i (&quads)[4]) {
  const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]), high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]), high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
  quads[0] = _mm512_unpacklo_epi16(low01, low23);
  quads[1] = _mm512_unpackhi_epi16(low01, low23);
  quads[2] = _mm512_unpacklo_epi16(high01, high23);
  quads[3] = _mm512_unpackhi_epi16(high01, high23);
}

// Four rows of the image side by side as in a strip, for 64 channels; any of them may be padding.
struct AnyRows {
  explicit AnyRows(const VnniStrip& strip) : flip(_mm512_set1_epi8(static_cast<char>(strip.flip))) {
    _mm512_store_si512(padding, _mm512_set1_epi8(static_cast<char>(strip.padding)));
    for (int r = 0; r < 4; ++r) {
      from[r] = strip.rows[r] != nullptr ? strip.rows[r] : padding;
      step[r] = strip.rows[r] != nullptr ? strip.column_stride : 0;
    }
  }
  AnyRows(const AnyRows&) = delete;
  AnyRows& operator=(const AnyRows&) = delete;
  // `column` counts from the first inside.
  [[gnu::always_inline]] void load(std::int64_t column, __m512i (&quads)[4]) const {
    __m512i rows[4];
    for (int r = 0; r < 4; ++r) rows[r] = _mm512_xor_si512(_mm512_loadu_si512(from[r] + column * step[r]), flip);
    interleave_rows(rows, quads);
  }

  const __m512i flip;
  alignas(64) std::uint8_t padding[64];
  const std::uint8_t* from[4];
  std::int64_t step[4];
};

// Three rows of u8 inside the image; the fourth has no weights, so that any bytes do for it.
struct ThreeRows {
  explicit ThreeRows(const VnniStrip& strip)
      : from{strip.rows[0], strip.rows[1], strip.rows[2]}, step(strip.column_stride) {}
  [[gnu::always_inline]] void load(std::int64_t column, __m512i (&quads)[4]) const {
    const std::int64_t offset = column * step;
    const __m512i last = _mm512_loadu_si512(from[2] + offset);
    interleave_rows({_mm512_loadu_si512(from[0] + offset), _mm512_loadu_si512(from[1] + offset), last, last}, quads);
  }

  const std::uint8_t* from[3];
  const std::int64_t step;
};

// A row three columns wide at stride 2 without a strip: the third column of a position is the first of the next, so
// that each is interleaved once.
template <class Rows, class Finish>
void direct_row(const VnniStrip& strip, const VnniRow& row) {
  const Rows rows(strip);
  const Finish end(row);
  const __m512i outside = _mm512_set1_epi8(static_cast<char>(strip.padding ^ strip.flip));
  const std::int64_t first_inside = strip.first_inside, inside = strip.end_inside - first_inside;
  __m512i bias[4], left[4], middle[4], acc[4];
  for (int q = 0; q < 4; ++q) bias[q] = _mm512_loadu_si512(row.bias + q * 16);
  const auto load = [&](std::int64_t column, __m512i(&quads)[4]) __attribute__((always_inline)) {
    const std::int64_t from_inside = column - first_inside;
    if (from_inside >= 0 && from_inside < inside) return rows.load(from_inside, quads);
    for (__m512i& quad : quads) quad = outside;
  };
  const auto add = [&](const __m512i(&quads)[4], int kw) __attribute__((always_inline)) {
    for (int q = 0; q < 4; ++q)
      acc[q] = _mm512_dpbusd_epi32(acc[q], quads[q], _mm512_loadu_si512(row.weights + (4 * kw + q) * 64));
  };
  load(0, left);
  for (std::int64_t position = 0; position < row.count; ++position) {
    for (int q = 0; q < 4; ++q) acc[q] = bias[q];
    add(left, 0);
    load(2 * position + 1, middle);
    load(2 * position + 2, left);
    add(middle, 1);
    add(left, 2);
    end.finish(acc, position);
  }
}

template <class Rows>
void run_direct_row(const VnniStrip& strip, const VnniRow& row) {
  if (row.sums != nullptr) return direct_row<Rows, ToSums<1>>(strip, row);
  row.epilogue.rest != nullptr ? direct_row<Rows, ToBytes<1, true>>(strip, row)
                               : direct_row<Rows, ToBytes<1, false>>(strip, row);
}

void direct(const VnniStrip& strip, const VnniRow& row) {
  const bool is_three = strip.rows[0] != nullptr && strip.rows[1] != nullptr && strip.rows[2] != nullptr;
  is_three&& strip.flip == 0 && strip.used_rows == 3 ? run_direct_row<ThreeRows>(strip, row)
                                                     : run_direct_row<AnyRows>(strip, row);
}

template <class V>
constexpr VnniFunctions vnni_functions() {
  return {.interleave = &interleave<V>,
          .row = &run_row<64 / V::kBytes>,
          .direct = V::kBytes == 64 ? &direct : nullptr,
          .spread = &spread<V>};
}

}  // namespace

constexpr VnniSet kStripsAvx512Vnni = {.blocks = {vnni_functions<Zmm>(), vnni_functions<Ymm>(), vnni_functions<Xmm>()}};

}  // namespace octavo
