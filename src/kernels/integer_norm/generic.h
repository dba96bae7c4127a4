// The loops of integer_norm/ over any Simd. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_NORM_GENERIC_H_
#define OCTAVO_KERNELS_INTEGER_NORM_GENERIC_H_

#include "kernels/epilogue/generic.h"
#include "kernels/integer_norm/lines.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S, NormType kType>
constexpr typename S::S32 stored_at(const void* x, std::int64_t i) {
  if constexpr (kType == NormType::s16) return S::widen_s16(static_cast<const std::int16_t*>(x) + i);
  else if constexpr (kType == NormType::s8) return S::widen_s8(static_cast<const std::uint8_t*>(x) + i);
  else return S::widen_u8(static_cast<const std::uint8_t*>(x) + i);
}

// Inlined: GCC clears no upper halves behind a call that hands vectors over, and what is compiled without AVX is slow
// beside them (a line took twice as long).
template <class S>
__attribute__((always_inline)) inline void add_totals(typename S::S32 sum, typename S::S32 low, typename S::S32 high,
                                                      NormSums& sums) {
  sums.sum += S::total(sum);
  sums.squares += S::total(low) + (std::int64_t{S::total(high)} << 16);
}

// |d| is at most 2^15, so that a square fits 31 bits, and sums over a whole line, those of halves of squares too,
// fit 32.
template <class S, NormType kType>
void add_sums(const NormLine& line, const void* x, std::int64_t& i, NormSums& sums) {
  typename S::S32 sum = S::set_s32(0), low = S::set_s32(0), high = S::set_s32(0);
  const typename S::S32 zero_point = S::set_s32(line.x_zero_point), mask = S::set_s32(0xffff);
  for (; i + S::kLanes <= line.n; i += S::kLanes) {
    const typename S::S32 d = S::sub_s32(stored_at<S, kType>(x, i), zero_point);
    const typename S::S32 square = S::mul_s32(d, d);
    sum = S::add_s32(sum, d);
    low = S::add_s32(low, S::and_s32(square, mask));
    high = S::add_s32(high, S::shift_right_s32(square, 16));
  }
  add_totals<S>(sum, low, high, sums);
  if constexpr (S::kLanes > 1) {
    if (i < line.n) add_sums<typename S::Half, kType>(line, x, i, sums);
  }
}

// Of s16 without a zero point, two values of a lane at a time: the sum of two squares is at most 2^31, without a sign.
template <class S>
void add_sums_of_pairs(const NormLine& line, const void* x, std::int64_t& i, NormSums& sums) {
  typename S::S32 sum = S::set_s32(0), low = S::set_s32(0), high = S::set_s32(0);
  const typename S::S32 mask = S::set_s32(0xffff), ones = S::set_s32(0x00010001), zero = S::set_s32(0);
  for (; i + 2 * S::kLanes <= line.n; i += 2 * S::kLanes) {
    std::int32_t pairs[S::kLanes];
    __builtin_memcpy(pairs, static_cast<const std::int16_t*>(x) + i, sizeof pairs);
    const typename S::S32 d = S::load_s32(pairs), squares = S::add_pairs(zero, d, d);
    sum = S::add_pairs(sum, d, ones);
    low = S::add_s32(low, S::and_s32(squares, mask));
    high = S::add_s32(high, S::and_s32(S::shift_right_s32(squares, 16), mask));
  }
  add_totals<S>(sum, low, high, sums);
}

template <class S, NormType kType>
NormSums line_sums_of(const NormLine& line, const void* x) {
  NormSums sums;
  std::int64_t i = 0;
  if (kType == NormType::s16 && line.x_zero_point == 0) add_sums_of_pairs<S>(line, x, i, sums);
  if (i < line.n) add_sums<S, kType>(line, x, i, sums);
  return sums;
}

template <class S>
NormSums line_sums(const NormLine& line, const void* x) {
  switch (line.x_type) {
    case NormType::u8: return line_sums_of<S, NormType::u8>(line, x);
    case NormType::s8: return line_sums_of<S, NormType::s8>(line, x);
    default: return line_sums_of<S, NormType::s16>(line, x);
  }
}

// fma((f32(d) - mean) * inverse, factor, shift)
template <class S>
constexpr typename S::F32 normalized(typename S::S32 d, typename S::F32 mean, typename S::F32 inverse,
                                     typename S::F32 factor, typename S::F32 shift) {
  return S::fma(S::mul(S::sub(S::to_f32(d), mean), inverse), factor, shift);
}

template <class S, NormType kType, NormTo kTo>
void finish_line_as(const NormLine& line, const NormResult& result, const void* x, void* y) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const NormResult r = result;
  const std::int32_t zero_point = line.x_zero_point;
  for_lanes<S>(
      0, line.n, [=]<class T>(std::int64_t i) __attribute__((always_inline)) {
        const typename T::S32 d = T::sub_s32(stored_at<T, kType>(x, i), T::set_s32(zero_point));
        const typename T::F32 value =
            normalized<T>(d, T::set(r.mean), T::set(r.inverse), T::load(r.factor + i), T::load(r.shift + i));
        if constexpr (kTo == NormTo::f32) T::store(static_cast<float*>(y) + i, value);
        else if constexpr (kTo == NormTo::s16)
          T::store_s16(static_cast<std::int16_t*>(y) + i, rounded<T>(value, r.round));
        else T::store_bytes(static_cast<std::uint8_t*>(y) + i, rounded<T>(value, r.round));
      });
  auto* bytes = static_cast<std::uint8_t*>(y);
  if (kTo == NormTo::bytes && r.table != nullptr) S::lookup(r.table, bytes, bytes, line.n);
}

template <class S, NormType kType>
void finish_line_of(const NormLine& line, const NormResult& result, const void* x, void* y) {
  switch (result.to) {
    case NormTo::f32: return finish_line_as<S, kType, NormTo::f32>(line, result, x, y);
    case NormTo::s16: return finish_line_as<S, kType, NormTo::s16>(line, result, x, y);
    case NormTo::bytes: return finish_line_as<S, kType, NormTo::bytes>(line, result, x, y);
  }
}

template <class S>
void finish_line(const NormLine& line, const NormResult& result, const void* x, void* y) {
  switch (line.x_type) {
    case NormType::u8: return finish_line_of<S, NormType::u8>(line, result, x, y);
    case NormType::s8: return finish_line_of<S, NormType::s8>(line, result, x, y);
    default: return finish_line_of<S, NormType::s16>(line, result, x, y);
  }
}

template <class S>
constexpr NormFunctions norm_functions() {
  return {.sums = &line_sums<S>, .finish = &finish_line<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_NORM_GENERIC_H_
