// x to the power of y in f32, once for vectors of any width: see elementary.h. Part of base/. Internal linkage only:
// per-ISA files include this.
#ifndef OCTAVO_BASE_ELEMENTARY_POW_H_
#define OCTAVO_BASE_ELEMENTARY_POW_H_

#include "base/elementary.h"

namespace octavo {
namespace {

// log2(x) of x >= 0 in f64, within 2^-35 of the value; -infinity of 0, NaN of NaN.
template <class V>
constexpr typename V::F64 log2_f64(typename V::F32 x) {
  // log2(1 + f) = f q(f), f in [-1/3, 1/3)
  constexpr double q_of[] = {0x1.71547652bbe15p+0, -0x1.7154764b33dc1p-1, 0x1.ec709d9025593p-2, -0x1.715484faa42a5p-2,
                             0x1.2776e2205407cp-2, -0x1.ec687ba05c22bp-3, 0x1.a60b2ad2030ecp-3, -0x1.724a737500edcp-3,
                             0x1.4981391b5915bp-3, -0x1.198530fde199cp-3, 0x1.fa1ec885fe343p-4, -0x1.542f0ef28c98dp-3,
                             0x1.42a2aa7f8bea5p-3};
  constexpr std::int32_t kTwoThirds = 0x3f2aaaab;
  const auto is_tiny = V::less(x, V::set(0x1p-126f));
  const auto bits = V::as_s32(V::select(is_tiny, V::mul(x, V::set(0x1p24f)), x));
  const auto k = V::template shift_right<23>(V::sub_s32(bits, V::set_s32(kTwoThirds)));
  const auto m = V::as_f32(V::sub_s32(bits, V::template shift_left<23>(k)));
  const auto f = V::widen(V::sub(m, V::set(1.0f)));
  auto q = V::set_f64(q_of[12]);
  for (int i = 11; i >= 0; --i) q = V::fma_f64(q, f, V::set_f64(q_of[i]));
  // What 0, infinity and NaN are: added, so that they come through.
  constexpr float kInfinity = __builtin_inff();
  const auto zero = V::set(0.0f);
  auto special = V::select(V::equal(x, zero), V::set(-kInfinity), zero);
  special = V::select(V::less(x, V::set(kInfinity)), special, x);
  const auto whole = V::add(V::add(V::to_f32(k), V::select(is_tiny, V::set(-24.0f), zero)), special);
  return V::fma_f64(f, q, V::widen(whole));
}

// 2^z for any z, rounded to f32.
template <class V>
constexpr typename V::F32 exp2_of_f64(typename V::F64 z) {
  const auto bounded = clamped<V>(V::narrow(z), -160.0f, 160.0f);
  const auto shifted = V::add(bounded, V::set(kToWhole));
  const auto n = V::sub(shifted, V::set(kToWhole));
  // Where z was out of bounds, so is the rest.
  const auto rest =
      clamped<V>(V::narrow(V::mul_f64(V::sub_f64(z, V::widen(n)), V::set_f64(0x1.62e42fefa39efp-1))), -1.0f, 1.0f);
  return scaled<V>(V::add(V::set(1.0f), exp_minus_one_near_0<V>(rest)), V::as_s32(shifted));
}

// x^y with the special values of the C library's function. Exact products, quotients and square roots for y = 1, 2, 3,
// -1 and 1/2.
template <class V>
constexpr typename V::F32 pow_f32(typename V::F32 x, typename V::F32 y) {
  constexpr float kInfinity = __builtin_inff();
  const auto zero = V::set(0.0f), one = V::set(1.0f), half = V::set(0.5f);
  const auto magnitude = absolute<V>(x);
  auto value = exp2_of_f64<V>(V::mul_f64(log2_f64<V>(magnitude), V::widen(y)));
  // (-1)^infinity is 1, and so is 1^y of any y: the product above may be 0 * infinity.
  value = V::select(V::equal(magnitude, one), V::select(V::equal(y, y), one, y), value);
  const auto is_whole = V::equal(V::nearest(y), y);
  const auto halved = V::mul(y, half);
  const auto even_part = V::nearest(halved);
  // Odd: whole, and half of it is not.
  const auto odd_sign = V::select(V::equal(even_part, halved), zero, V::as_f32(sign_bits<V>(x)));
  const auto signed_value = V::as_f32(V::xor_s32(V::as_s32(value), V::as_s32(odd_sign)));
  const auto nan = V::set(__builtin_nanf(""));
  const auto is_defined_below = V::select(V::less(V::set(-kInfinity), x), nan, value);  // of -infinity it is
  const auto fraction = V::select(V::less(x, zero), is_defined_below, value);
  value = V::select(is_whole, signed_value, fraction);
  value = V::select(V::equal(y, half),
                    V::select(V::equal(x, V::set(-kInfinity)), V::set(kInfinity), V::sqrt(V::add(x, zero))), value);
  value = V::select(V::equal(y, V::set(2.0f)), V::mul(x, x), value);
  value = V::select(V::equal(y, V::set(3.0f)), V::mul(V::mul(x, x), x), value);
  value = V::select(V::equal(y, V::set(-1.0f)), V::div(one, x), value);
  value = V::select(V::equal(y, one), x, value);
  value = V::select(V::equal(x, one), one, value);
  return V::select(V::equal(y, zero), one, value);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_BASE_ELEMENTARY_POW_H_
