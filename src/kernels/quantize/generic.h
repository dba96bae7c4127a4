// The loops of quantize/ over any Simd. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_QUANTIZE_GENERIC_H_
#define OCTAVO_KERNELS_QUANTIZE_GENERIC_H_

#include "kernels/quantize/rows.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S, bool kSigned>
typename S::S32 widen_byte(const std::uint8_t* p) {
  return kSigned ? S::widen_s8(p) : S::widen_u8(p);
}

template <class S>
constexpr typename S::F32 quotient(typename S::F32 real, typename S::F32 scale, bool multiplies) {
  return multiplies ? S::mul(real, S::div(S::set(1.0f), scale)) : S::div(real, scale);
}

// The clamp comes before the rounding, as in round_then_zero_point.
template <class S>
constexpr void store_rounded(const QuantizeRow& row, typename S::F32 scaled, typename S::S32 zero_point,
                             std::uint8_t* q) {
  const typename S::F32 lowest = S::to_f32(S::sub_s32(S::set_s32(row.lowest), zero_point));
  const typename S::F32 highest = S::to_f32(S::sub_s32(S::set_s32(row.highest), zero_point));
  S::store_bytes(q, S::add_s32(S::round(S::min(S::max(scaled, lowest), highest)), zero_point));
}

constexpr std::int32_t first_zero_point(const QuantizeRow& row) {
  if (row.zero_point == nullptr) return 0;
  return row.is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(*row.zero_point))
                       : static_cast<std::int32_t>(*row.zero_point);
}

template <class S, bool kSigned>
void quantize_by_element(const QuantizeRow& args, const float* real, std::uint8_t* q) {
  const QuantizeRow row = args;
  for_lanes<S>(0, row.n, [=]<class T>(std::int64_t i) {
    const typename T::S32 zero_point =
        row.zero_point == nullptr ? T::set_s32(0) : widen_byte<T, kSigned>(row.zero_point + i);
    store_rounded<T>(row, quotient<T>(T::load(real + i), T::load(row.scale + i), row.multiplies), zero_point, q + i);
  });
}

// Scales whose reciprocal is far from the ends of f32.
constexpr bool has_safe_reciprocal(float scale) { return scale > 0x1p-60f && scale < 0x1p60f; }

// Division is slow, and its result is only rounded: real * (1 / scale) rounds to the same integer unless it is within
// an error of a tie. It is off by less than three parts in 2^24; clamped to less than 2^10 in size, by less than 2^-12.
// Where any lane is that close to a tie, all are divided.
template <class S>
void quantize_by_reciprocal(const QuantizeRow& row, float scale, std::int32_t zero_point, const float* real,
                            std::uint8_t* q) {
  const float inverse = 1.0f / scale;
  const auto lowest = static_cast<float>(row.lowest - zero_point),
             highest = static_cast<float>(row.highest - zero_point);
  for_lanes<S>(
      0, row.n, [=]<class T>(std::int64_t i) __attribute__((always_inline)) {
        const typename T::F32 x = T::load(real + i);
        typename T::F32 value = T::min(T::max(T::mul(x, T::set(inverse)), T::set(lowest)), T::set(highest));
        const typename T::F32 rest = T::sub(value, T::nearest(value));
        const typename T::F32 distance = T::max(rest, T::sub(T::set(0.0f), rest));
        if (__builtin_expect(T::any_greater(distance, T::set(0.5f - 0x1p-12f)), 0)) {
          value = T::min(T::max(T::div(x, T::set(scale)), T::set(lowest)), T::set(highest));
        }
        T::store_bytes(q + i, T::add_s32(T::round(value), T::set_s32(zero_point)));
      });
}

template <class S>
void quantize_row(const QuantizeRow& args, const float* real, std::uint8_t* q) {
  if (args.step == 1)
    return args.is_signed ? quantize_by_element<S, true>(args, real, q) : quantize_by_element<S, false>(args, real, q);
  const QuantizeRow row = args;
  const float scale = *row.scale;
  const std::int32_t zero_point = first_zero_point(row);
  if (!row.multiplies && has_safe_reciprocal(scale)) return quantize_by_reciprocal<S>(row, scale, zero_point, real, q);
  for_lanes<S>(0, row.n, [=]<class T>(std::int64_t i) {
    store_rounded<T>(row, quotient<T>(T::load(real + i), T::set(scale), row.multiplies), T::set_s32(zero_point), q + i);
  });
}

template <class S, bool kSigned>
void dequantize_as(const QuantizeRow& args, const std::uint8_t* q, float* real) {
  const QuantizeRow row = args;
  if (row.step == 1) {
    for_lanes<S>(0, row.n, [=]<class T>(std::int64_t i) {
      const typename T::S32 zero_point =
          row.zero_point == nullptr ? T::set_s32(0) : widen_byte<T, kSigned>(row.zero_point + i);
      T::store(real + i,
               T::mul(T::to_f32(T::sub_s32(widen_byte<T, kSigned>(q + i), zero_point)), T::load(row.scale + i)));
    });
    return;
  }
  const float scale = *row.scale;
  const std::int32_t zero_point = first_zero_point(row);
  for_lanes<S>(0, row.n, [=]<class T>(std::int64_t i) {
    T::store(real + i,
             T::mul(T::to_f32(T::sub_s32(widen_byte<T, kSigned>(q + i), T::set_s32(zero_point))), T::set(scale)));
  });
}

template <class S>
void dequantize_row(const QuantizeRow& row, const std::uint8_t* q, float* real) {
  return row.is_signed ? dequantize_as<S, true>(row, q, real) : dequantize_as<S, false>(row, q, real);
}

template <class S>
void quantize_row_s16(const QuantizeS16& args, const float* real, std::int16_t* q) {
  const QuantizeS16 row = args;
  for_lanes<S>(0, row.n, [=]<class T>(std::int64_t i) {
    const typename T::F32 scaled = quotient<T>(T::load(real + i), T::set(row.scale), row.multiplies);
    const typename T::F32 raised = T::max(scaled, T::set(static_cast<float>(row.lowest - row.zero_point)));
    const typename T::F32 bounded = T::min(raised, T::set(static_cast<float>(row.highest - row.zero_point)));
    T::store_s16(q + i, T::add_s32(T::round(bounded), T::set_s32(row.zero_point)));
  });
}

template <class S>
void dequantize_row_s16(const QuantizeS16& args, const std::int16_t* q, float* real) {
  const QuantizeS16 row = args;
  for_lanes<S>(0, row.n, [=]<class T>(std::int64_t i) {
    T::store(real + i,
             T::mul(T::to_f32(T::sub_s32(T::widen_s16(q + i), T::set_s32(row.zero_point))), T::set(row.scale)));
  });
}

// Of n values, load<V>(i) giving those from i on. NaN is no end of a range: min and max give their second operand.
template <class S, class Load>
ValueRange range_of_values(std::int64_t n, const Load& load) {
  constexpr std::int64_t kTogether = 4;
  typename S::F32 low[kTogether], high[kTogether];
  for (std::int64_t k = 0; k < kTogether; ++k) low[k] = high[k] = S::set(0.0f);
  std::int64_t i = 0;
  for (; i + kTogether * S::kLanes <= n; i += kTogether * S::kLanes) {
    for (std::int64_t k = 0; k < kTogether; ++k) {
      const typename S::F32 x = load.template operator()<S>(i + k * S::kLanes);
      low[k] = S::min(x, low[k]);
      high[k] = S::max(x, high[k]);
    }
  }
  for (; i + S::kLanes <= n; i += S::kLanes) {
    const typename S::F32 x = load.template operator()<S>(i);
    low[0] = S::min(x, low[0]);
    high[0] = S::max(x, high[0]);
  }
  ValueRange range{S::lowest(S::min(S::min(low[0], low[1]), S::min(low[2], low[3]))),
                   S::highest(S::max(S::max(high[0], high[1]), S::max(high[2], high[3])))};
  for (; i < n; ++i) {
    const float x = load.template operator()<Scalar>(i);
    range.lowest = Scalar::min(x, range.lowest);
    range.highest = Scalar::max(x, range.highest);
  }
  return range;
}

template <class S>
ValueRange range_of_row(const float* real, std::int64_t n) {
  return range_of_values<S>(
      n, [=]<class T>(std::int64_t i) __attribute__((always_inline)) { return T::load(real + i); });
}

template <class S>
ValueRange range_of_products(const std::int16_t* x, const float* factors, std::int64_t n) {
  return range_of_values<S>(
      n, [=]<class T>(std::int64_t i)
             __attribute__((always_inline)) { return T::mul(T::to_f32(T::widen_s16(x + i)), T::load(factors + i)); });
}

template <class S>
void multiply_row(const float* real, std::int64_t n, float factor, std::int32_t zero_point, std::uint8_t* q) {
  const auto lowest = static_cast<float>(-zero_point), highest = static_cast<float>(255 - zero_point);
  for_lanes<S>(
      0, n, [=]<class T>(std::int64_t i) __attribute__((always_inline)) {
        const typename T::F32 scaled = T::mul(T::load(real + i), T::set(factor));
        T::store_bytes(q + i, T::add_s32(T::round(T::min(T::max(scaled, T::set(lowest)), T::set(highest))),
                                         T::set_s32(zero_point)));
      });
}

// Of a row, without a lane by itself.
template <class S>
ValueRange range_of_short_row(const float* real, std::int64_t n) {
  typename S::F32 low = S::set(0.0f), high = low;
  std::int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    const typename S::F32 x = S::load(real + i);
    low = S::min(x, low);
    high = S::max(x, high);
  }
  if constexpr (S::kLanes > 1) {
    if (i < n) {
      const typename S::F32 x = S::load_first(real + i, n - i, 0.0f);
      low = S::min(x, low);
      high = S::max(x, high);
    }
  }
  return {S::lowest(low), S::highest(high)};
}

// RunScale::of_xnnpack in lanes, one for each row: what it takes of a row by itself is more than 32 bytes of it do.
template <class S>
struct XnnpackScales {
  typename S::F32 scale, inverse;
  typename S::S32 zero_point;

  static XnnpackScales of(typename S::F32 low, typename S::F32 high) {
    using F32 = typename S::F32;
    const F32 one = S::set(1.0f);
    const F32 inverse = S::select(S::less(low, high), S::div(S::set(255.0f), S::sub(high, low)), one);
    const F32 least = S::mul(low, inverse), most = S::mul(high, inverse);
    const F32 errors = S::add(S::add(S::set(-128.0f), least), S::add(S::set(127.0f), most));
    const F32 nearer =
        S::select(S::less(S::set(0.0f), errors), S::sub(S::set(-128.0f), least), S::sub(S::set(127.0f), most));
    const F32 inside = S::min(S::max(nearer, S::set(-128.0f)), S::set(127.0f));
    return {S::div(one, inverse), inverse, S::add_s32(S::round(inside), S::set_s32(128))};
  }
};

template <class S>
void quantize_rows_by_range(const XnnpackRows& args) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const XnnpackRows rows = args;
  constexpr std::int64_t kShort = 8 * S::kLanes;
  for (std::int64_t first = 0; first < rows.rows; first += S::kLanes) {
    const std::int64_t count = rows.rows - first < S::kLanes ? rows.rows - first : S::kLanes;
    float low[S::kLanes] = {}, high[S::kLanes] = {}, scales[S::kLanes], inverses[S::kLanes];
    std::int32_t zero_points[S::kLanes];
    for (std::int64_t row = 0; row < count; ++row) {
      const float* real = rows.real + (first + row) * rows.n;
      const ValueRange range = rows.n < kShort ? range_of_short_row<S>(real, rows.n) : range_of_row<S>(real, rows.n);
      low[row] = range.lowest;
      high[row] = range.highest;
    }
    const auto found = XnnpackScales<S>::of(S::load(low), S::load(high));
    S::store(scales, found.scale);
    S::store(inverses, found.inverse);
    S::store_s32(zero_points, found.zero_point);
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t at = first + row;
      rows.scales[at] = scales[row];
      rows.zero_points[at] = static_cast<std::uint8_t>(zero_points[row]);
      multiply_row<S>(rows.real + at * rows.n, rows.n, inverses[row], zero_points[row], rows.q + at * rows.n);
    }
  }
}

// Halves away from 0. Adding a half would round 0.5 - 2^-25 up; the float below it does not, and brings what is a half
// to the next whole number, since the sum is half an ulp from it and rounds to even.
template <class S>
typename S::F32 rounded_away(typename S::F32 x) {
  const typename S::F32 half = S::set(0x1.fffffep-2f);
  return S::select(S::less(x, S::set(0.0f)), S::ceil(S::sub(x, half)), S::floor(S::add(x, half)));
}

template <class S>
void multiply_row_away(const float* real, std::int64_t n, float factor, std::int32_t zero_point, std::uint8_t* q) {
  const auto shift = static_cast<float>(zero_point - 128);
  for_lanes<S>(
      0, n, [=]<class T>(std::int64_t i) __attribute__((always_inline)) {
        const typename T::F32 shifted = T::add(T::set(shift), T::mul(T::load(real + i), T::set(factor)));
        const typename T::F32 inside = T::min(T::max(shifted, T::set(-128.0f)), T::set(127.0f));
        T::store_bytes(q + i, T::add_s32(T::round(rounded_away<T>(inside)), T::set_s32(128)));
      });
}

// Exact: s16 is.
template <class S>
void widen_range(typename S::S32 low, typename S::S32 high, RangeS16& range) {
  range.lowest = Scalar::min_s32(range.lowest, static_cast<std::int32_t>(S::lowest(S::to_f32(low))));
  range.highest = Scalar::max_s32(range.highest, static_cast<std::int32_t>(S::highest(S::to_f32(high))));
}

// Two values of a lane at a time.
template <class S>
RangeS16 range_of_row_s16(const std::int16_t* x, std::int64_t n) {
  constexpr std::int64_t kTogether = 4, kAtOnce = 2 * S::kLanes;
  typename S::S32 low[kTogether], high[kTogether];
  for (std::int64_t k = 0; k < kTogether; ++k) low[k] = high[k] = S::set_s32(0);
  std::int64_t i = 0;
  const auto add = [&](std::int64_t k, std::int64_t at) {
    std::int32_t pairs[S::kLanes];
    __builtin_memcpy(pairs, x + at, sizeof pairs);
    low[k] = S::min_pairs(low[k], S::load_s32(pairs));
    high[k] = S::max_pairs(high[k], S::load_s32(pairs));
  };
  for (; i + kTogether * kAtOnce <= n; i += kTogether * kAtOnce) {
    for (std::int64_t k = 0; k < kTogether; ++k) add(k, i + k * kAtOnce);
  }
  for (; i + kAtOnce <= n; i += kAtOnce) add(0, i);
  const typename S::S32 lowest = S::min_pairs(S::min_pairs(low[0], low[1]), S::min_pairs(low[2], low[3]));
  const typename S::S32 highest = S::max_pairs(S::max_pairs(high[0], high[1]), S::max_pairs(high[2], high[3]));
  RangeS16 range;
  constexpr std::int32_t kHalves[] = {0x00000001, 0x00010000};
  for (const std::int32_t half : kHalves) {
    const typename S::S32 zero = S::set_s32(0), one = S::set_s32(half);
    widen_range<S>(S::add_pairs(zero, lowest, one), S::add_pairs(zero, highest, one), range);
  }
  for (; i < n; ++i) widen_range<Scalar>(x[i], x[i], range);
  return range;
}

enum class Requantized { scaled, gelu, by_factors };

template <class S, Requantized kForm>
void requantize_row_as(const RequantizeRow& args, const std::int16_t* x, std::uint8_t* q) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const RequantizeRow row = args;
  const NearGelu gelu = kForm == Requantized::gelu ? *args.gelu : NearGelu{};
  const auto zero_point = static_cast<float>(row.zero_point);
  const auto byte = [=]<class T>(std::int64_t i) __attribute__((always_inline)) {
    typename T::F32 value = T::to_f32(T::widen_s16(x + i));
    if constexpr (kForm == Requantized::gelu) value = near_gelu<T>(gelu, value);
    else if constexpr (kForm == Requantized::by_factors) value = T::mul(value, T::load(row.factors + i));
    else value = T::mul(value, T::set(row.x_scale));
    value = T::fma(value, T::set(row.factor), T::set(zero_point));
    return T::round(T::min(T::max(value, T::set(0.0f)), T::set(255.0f)));
  };
  std::int64_t i = 0;
  for (; i + 4 * S::kLanes <= row.n; i += 4 * S::kLanes) {
    S::store_four(q + i, byte.template operator()<S>(i), byte.template operator()<S>(i + S::kLanes),
                  byte.template operator()<S>(i + 2 * S::kLanes), byte.template operator()<S>(i + 3 * S::kLanes));
  }
  for_lanes<S>(
      i, row.n, [=]<class T>(std::int64_t at) __attribute__((always_inline)) {
        T::store_bytes(q + at, byte.template operator()<T>(at));
      });
}

template <class S>
void requantize_row(const RequantizeRow& row, const std::int16_t* x, std::uint8_t* q) {
  if (row.gelu != nullptr) return requantize_row_as<S, Requantized::gelu>(row, x, q);
  if (row.factors != nullptr) return requantize_row_as<S, Requantized::by_factors>(row, x, q);
  requantize_row_as<S, Requantized::scaled>(row, x, q);
}

template <class S>
constexpr QuantizeFunctions quantize_functions() {
  return {.quantize = &quantize_row<S>,
          .dequantize = &dequantize_row<S>,
          .quantize_s16 = &quantize_row_s16<S>,
          .dequantize_s16 = &dequantize_row_s16<S>,
          .range = &range_of_row<S>,
          .multiply = &multiply_row<S>,
          .multiply_away = &multiply_row_away<S>,
          .xnnpack_rows = &quantize_rows_by_range<S>,
          .range_s16 = &range_of_row_s16<S>,
          .range_of_products = &range_of_products<S>,
          .requantize = &requantize_row<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_QUANTIZE_GENERIC_H_
