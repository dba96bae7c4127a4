// depthwise/ in strips of four interleaved rows: sdot, for 16 channels at a time. Part of kernels/.
//
// A strip holds four quarters per group of rows: strip[group][quarter][phase][column] = {row 0, row 1, row 2, row 3} of
// four channels, a register; neighbouring positions read neighbouring columns of a phase, whatever the stride.
#include <arm_neon.h>

#include "kernels/depthwise/strips.h"
#include "kernels/simd/unrolled.h"

namespace octavo {
namespace {

constexpr std::int64_t kDepthwiseArm64DotprodBlock = 16;
constexpr int kPositions = 4;   // of a strip at a time, which share the weights
constexpr int kDirectRows = 3;  // of a window without a strip

struct Bytes16 {
  static constexpr std::int64_t kBytes = kDepthwiseArm64DotprodBlock;
  using I = uint8x16_t;
  static I load(const std::uint8_t* p) { return vld1q_u8(p); }
  static void store(std::uint8_t* p, I x) { vst1q_u8(p, x); }
  static I set8(std::uint8_t x) { return vdupq_n_u8(x); }
  static I bit_xor(I a, I b) { return veorq_u8(a, b); }
  static I low8(I a, I b) { return vzip1q_u8(a, b); }
  static I high8(I a, I b) { return vzip2q_u8(a, b); }
  static I low16(I a, I b) { return as_bytes(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))); }
  static I high16(I a, I b) { return as_bytes(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))); }

 private:
  static I as_bytes(uint16x8_t x) { return vreinterpretq_u8_u16(x); }
};

// Accumulators as they are, in channel order.
struct ToSums {
  static constexpr bool kIsFrequent = false;

  explicit ToSums(const VnniRow& r) : row(r) {}

  void put(const int32x4_t (&acc)[4], std::int64_t position) const {
    for (int q = 0; q < 4; ++q) vst1q_s32(row.sums + position * kDepthwiseArm64DotprodBlock + 4 * q, acc[q]);
  }

  const VnniRow& row;
};

// Scaled, rounded and clamped bytes; s8 as the u8 that is 128 more, until the end. Multipliers are finite and
// conversions saturate, so that clamps may wait.
template <bool kHasRest>
struct ToBytes {
  static constexpr bool kIsFrequent = !kHasRest;

  explicit ToBytes(const VnniRow& r)
      : multiplier(r.epilogue.multiplier),
        rest(r.epilogue.rest),
        y(r.y),
        y_stride(r.y_stride),
        zero_point(vdupq_n_s16(static_cast<std::int16_t>(r.epilogue.round.after + (r.to_signed ? 128 : 0)))),
        lowest(bound(r, r.epilogue.round.lowest)),
        highest(bound(r, r.epilogue.round.highest)),
        flip(vdupq_n_u8(r.to_signed ? 0x80 : 0)) {}

  inline __attribute__((always_inline)) void put(const int32x4_t (&acc)[4], std::int64_t position) const {
    const float32x4x4_t factors = vld1q_f32_x4(multiplier);
    int32x4_t q[4];
    unrolled<4>([&](auto i) __attribute__((always_inline)) {
      float32x4_t whole = vcvtq_f32_s32(acc[i]);
      if (kHasRest) whole = vaddq_f32(whole, vld1q_f32(rest + 4 * i));
      q[i] = vcvtnq_s32_f32(vmulq_f32(whole, factors.val[i]));
    });
    const int16x8_t first = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(q[0]), q[1]), zero_point),
                    second = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(q[2]), q[3]), zero_point);
    const uint8x16_t bytes = vqmovun_high_s16(vqmovun_s16(first), second);
    vst1q_u8(y + position * y_stride, veorq_u8(vminq_u8(vmaxq_u8(bytes, lowest), highest), flip));
  }

 private:
  static uint8x16_t bound(const VnniRow& r, float real) {
    const std::int32_t stored = static_cast<std::int32_t>(real) + r.epilogue.round.after + (r.to_signed ? 128 : 0);
    return vdupq_n_u8(static_cast<std::uint8_t>(stored));
  }

  // By value: stores of bytes may alias anything reached through a pointer.
  const float *multiplier, *rest;
  std::uint8_t* y;
  std::int64_t y_stride;
  int16x8_t zero_point;
  uint8x16_t lowest, highest, flip;
};

// VnniRow::is_bare.
struct ToBareBytes {
  static constexpr bool kIsFrequent = true;

  explicit ToBareBytes(const VnniRow& r)
      : multiplier(r.epilogue.multiplier), y(r.y), y_stride(r.y_stride), flip(vdupq_n_u8(r.to_signed ? 0x80 : 0)) {}

  inline __attribute__((always_inline)) void put(const int32x4_t (&acc)[4], std::int64_t position) const {
    int16x8_t q[4];
    unrolled<4>([&](auto i) __attribute__((always_inline)) {
      const float32x4_t product = vmulq_f32(vcvtq_f32_s32(acc[i]), vld1q_f32(multiplier + 4 * i));
      q[i] = vreinterpretq_s16_s32(vcvtnq_s32_f32(product));
    });
    const uint8x8_t first = vqmovun_s16(vuzp1q_s16(q[0], q[1]));
    vst1q_u8(y + position * y_stride, veorq_u8(vqmovun_high_s16(first, vuzp1q_s16(q[2], q[3])), flip));
  }

 private:
  const float* multiplier;
  std::uint8_t* y;
  std::int64_t y_stride;
  uint8x16_t flip;
};

// Positions beyond the last one are computed of what lies behind the strip, and left out.
template <class Finish>
void row_by(const VnniRow& row) {
  const Finish end(row);
  const std::int64_t quarter = row.phases * row.phase_columns * kDepthwiseArm64DotprodBlock, count = row.count;
  for (std::int64_t first = 0; first < count; first += kPositions) {
    int32x4_t acc[kPositions][4];
    unrolled<4>([&](auto q) __attribute__((always_inline)) {
      unrolled<kPositions>([&](auto p) __attribute__((always_inline)) { acc[p][q] = vld1q_s32(row.bias + 4 * q); });
    });
    const std::int8_t* w = row.weights;
    const std::uint8_t* group = row.strip + first * kDepthwiseArm64DotprodBlock;
    for (std::int64_t g = 0; g < row.groups; ++g, group += 4 * quarter) {
      for (std::int64_t kw = 0; kw < row.kernel_width; ++kw, w += 4 * kDepthwiseArm64DotprodBlock) {
        const std::uint8_t* x =
            group + (row.taps[kw].phase * row.phase_columns + row.taps[kw].column) * kDepthwiseArm64DotprodBlock;
        unrolled<4>([&](auto q) __attribute__((always_inline)) {
          const int8x16_t weights = vld1q_s8(w + kDepthwiseArm64DotprodBlock * q);
          uint8x16_t some[kPositions];
          unrolled<kPositions>([&](auto p) __attribute__((always_inline)) {
            some[p] = vld1q_u8(x + q * quarter + kDepthwiseArm64DotprodBlock * p);
          });
          unrolled<kPositions>([&](auto p) __attribute__((always_inline)) {
            acc[p][q] = vdotq_s32(acc[p][q], vreinterpretq_s8_u8(some[p]), weights);
          });
        });
      }
    }
    unrolled<kPositions>([&](auto p) __attribute__((always_inline)) {
      if (first + p < count) end.put(acc[p], first + p);
    });
  }
}

using Quads = uint8x16_t[4];

// Columns of x as in a strip, straight from the image; any of the rows may be padding, and so may the columns. Windows
// are at most three rows high: the third one stands for the fourth, which has no weights.
struct ImageColumns {
  const std::uint8_t* from[kDirectRows];  // the next column inside
  std::int64_t step[kDirectRows];
  std::int64_t first_inside, inside;
  uint8x16_t flip, outside;

  ImageColumns(const VnniStrip& strip, const std::uint8_t (&padding)[kDepthwiseArm64DotprodBlock])
      : first_inside(strip.first_inside),
        inside(strip.end_inside - strip.first_inside),
        flip(vdupq_n_u8(strip.flip)),
        outside(vdupq_n_u8(strip.padding ^ strip.flip)) {
    unrolled<kDirectRows>([&](auto r) __attribute__((always_inline)) {
      from[r] = strip.rows[r] != nullptr ? strip.rows[r] : padding;
      step[r] = strip.rows[r] != nullptr ? strip.column_stride : 0;
    });
  }

  // Of `count` columns from `column` on.
  bool are_inside(std::int64_t column, std::int64_t count) const {
    return column >= first_inside && column + count <= first_inside + inside;
  }
  inline __attribute__((always_inline)) void next(std::int64_t column, Quads& quads) {
    if (are_inside(column, 1)) return next_inside(quads);
    unrolled<4>([&](auto q) __attribute__((always_inline)) { quads[q] = outside; });
  }
  inline __attribute__((always_inline)) void next_inside(Quads& quads) {
    uint8x16_t row[kDirectRows];
    unrolled<kDirectRows>([&](auto r) __attribute__((always_inline)) {
      row[r] = veorq_u8(vld1q_u8(from[r]), flip);
      from[r] += step[r];
    });
    const uint8x16_t low01 = vzip1q_u8(row[0], row[1]), high01 = vzip2q_u8(row[0], row[1]),
                     low23 = vzip1q_u8(row[2], row[2]), high23 = vzip2q_u8(row[2], row[2]);
    quads[0] = Bytes16::low16(low01, low23);
    quads[1] = Bytes16::high16(low01, low23);
    quads[2] = Bytes16::low16(high01, high23);
    quads[3] = Bytes16::high16(high01, high23);
  }
};

// Results of windows three columns wide, one after the other: what neighbours share of x, and all weights, stay in
// registers: 3 * 4 of w, 3 * 4 of x, 4 sums. Where it is frequent, columns take turns: as many positions are
// written out, so that none is moved from register to register.
template <int kStride, class Finish>
void direct_by(const VnniStrip& strip, const VnniRow& row) {
  std::uint8_t padding[kDepthwiseArm64DotprodBlock];
  vst1q_u8(padding, vdupq_n_u8(strip.padding));
  ImageColumns columns(strip, padding);
  const Finish end(row);
  const std::int32_t* const bias = row.bias;
  const std::int64_t count = row.count;
  // Positions whose new columns are all inside.
  const std::int64_t begin = kStride == 1 ? strip.first_inside - 2 : strip.first_inside / 2,
                     ending = kStride == 1 ? strip.end_inside - 2 : (strip.end_inside - 1) / 2;
  int8x16_t weights[12];
  unrolled<12>([&](auto i) __attribute__((always_inline)) {
    weights[i] = vld1q_s8(row.weights + i * kDepthwiseArm64DotprodBlock);
  });
  Quads some[3];
  columns.next(0, some[0]);
  if (kStride == 1) columns.next(1, some[1]);
  constexpr int kColumns = kStride == 1 ? 3 : 2, kRoles = Finish::kIsFrequent ? kColumns : 1;
  const auto compute = [&](auto role, std::int64_t position) __attribute__((always_inline)) {
    Quads &left = some[role], &middle = kStride == 1 ? some[(role + 1) % 3] : some[2],
          &right = kStride == 1 ? some[(role + 2) % 3] : some[1 - role];
    if (position >= begin && position < ending) {
      if (kStride == 2) columns.next_inside(middle);
      columns.next_inside(right);
    } else {
      if (kStride == 2) columns.next(2 * position + 1, middle);
      columns.next(kStride * position + 2, right);
    }
    int32x4_t acc[4];
    unrolled<4>([&](auto q) __attribute__((always_inline)) {
      acc[q] = vdotq_s32(vld1q_s32(bias + 4 * q), vreinterpretq_s8_u8(left[q]), weights[q]);
      acc[q] = vdotq_s32(acc[q], vreinterpretq_s8_u8(middle[q]), weights[4 + q]);
      acc[q] = vdotq_s32(acc[q], vreinterpretq_s8_u8(right[q]), weights[8 + q]);
    });
    end.put(acc, position);
    if (kRoles == kColumns) return;
    unrolled<4>([&](auto q) __attribute__((always_inline)) {
      left[q] = kStride == 1 ? middle[q] : right[q];
      if (kStride == 1) middle[q] = right[q];
    });
  };
  for (std::int64_t position = 0; position < count; position += kRoles) {
    unrolled<kRoles>([&](auto role) __attribute__((always_inline)) {
      if (position + role < count) compute(role, position + role);
    });
  }
}

template <int kStride>
void direct_at(const VnniStrip& strip, const VnniRow& row) {
  if (row.sums != nullptr) return direct_by<kStride, ToSums>(strip, row);
  if (row.is_bare) return direct_by<kStride, ToBareBytes>(strip, row);
  row.epilogue.rest != nullptr ? direct_by<kStride, ToBytes<true>>(strip, row)
                               : direct_by<kStride, ToBytes<false>>(strip, row);
}

void direct(const VnniStrip& strip, const VnniRow& row) {
  row.phases == 1 ? direct_at<1>(strip, row) : direct_at<2>(strip, row);
}

void run_depthwise_arm64_dotprod_row(const VnniRow& row) {
  if (row.sums != nullptr) return row_by<ToSums>(row);
  row.epilogue.rest != nullptr ? row_by<ToBytes<true>>(row) : row_by<ToBytes<false>>(row);
}

}  // namespace

constexpr VnniSet kStripsDotprod = {.blocks = {{},
                                               {},
                                               {.interleave = &interleave<Bytes16>,
                                                .row = &run_depthwise_arm64_dotprod_row,
                                                .direct = &direct,
                                                .spread = &spread<Bytes16>}},
                                    .widest = 2,
                                    .least_direct_stride = 1,
                                    .most_direct_rows = kDirectRows,
                                    .takes_signed = true};

}  // namespace octavo
