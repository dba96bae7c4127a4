// How rows of x become a strip, over vectors of any width, and results leave the staging. Internal linkage only. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_STRIPS_H_
#define OCTAVO_KERNELS_DEPTHWISE_STRIPS_H_

#include "kernels/depthwise/rows.h"

namespace octavo {
namespace {

// V: a vector of V::kBytes bytes, whose low8, high8, low16 and high16 interleave the lower or upper halves of every 16
// bytes of two.
template <class V>
void store_column(typename V::I r0, typename V::I r1, typename V::I r2, typename V::I r3, std::uint8_t* to,
                  std::int64_t quarter_bytes) {
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

// From one position after the other to where each has its place.
template <class V>
void spread(const std::uint8_t* from, const VnniRow& row) {
  for (std::int64_t position = 0; position < row.count; ++position)
    V::store(row.y + position * row.y_stride, V::load(from + position * V::kBytes));
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_STRIPS_H_
