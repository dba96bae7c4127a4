// tan, the inverse and the hyperbolic functions of f32, in the way of base/elementary.h. Part of base/. Internal
// linkage only: per-ISA files include this.
#ifndef OCTAVO_BASE_ELEMENTARY_ANGLES_H_
#define OCTAVO_BASE_ELEMENTARY_ANGLES_H_

#include "base/elementary.h"

namespace octavo {
namespace {

// ---- angles ----

// sin(r) / cos(r), or -cos(r) / sin(r) after an odd number of quarter turns.
template <class V>
typename V::F32 tan_f32(typename V::F32 x) {
  const auto magnitude = absolute<V>(x);
  const auto parts = angle_parts<V>(magnitude);
  const auto is_turned = is_odd<V>(parts.n_bits);
  const auto quotient = V::div(V::select(is_turned, negated<V>(parts.cosine), parts.sine),
                               V::select(is_turned, parts.sine, parts.cosine));
  const auto y = V::as_f32(V::xor_s32(V::as_s32(quotient), sign_bits<V>(x)));
  if (!V::any_greater(magnitude, V::set(kLargestAngle))) return y;
  return V::select(V::less(V::set(kLargestAngle), magnitude), by_lanes<V>(math_tan, x), y);
}

// asin(s) of s = sqrt(z), z in [0, 1/4].
template <class V>
typename V::F32 small_asin(typename V::F32 s, typename V::F32 z) {
  // s + s z p(z)
  constexpr float p_of[] = {0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bbap-5f, 0x1.8c3e2ap-6f, 0x1.595c8cp-5f};
  return V::fma(V::mul(s, z), polynomial<V>(p_of, z), s);
}

// pi/2 - x.
template <class V>
typename V::F32 from_half_pi(typename V::F32 x) {
  return V::sub(V::set(kHalfPiHigh), V::sub(x, V::set(kHalfPiMiddle)));
}

// |x| > 1/2: asin(|x|) = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
template <class V>
struct AsinParts {
  typename V::F32 small;  // asin(|x|), or of the root
  typename V::Mask has_root;
};
template <class V>
AsinParts<V> asin_parts(typename V::F32 x) {
  const auto t = absolute<V>(x);
  const auto has_root = V::less(V::set(0.5f), t);
  const auto z = V::select(has_root, V::mul(V::set(0.5f), V::sub(V::set(1.0f), t)), V::mul(t, t));
  return {small_asin<V>(V::select(has_root, V::sqrt(z), t), z), has_root};
}

template <class V>
typename V::F32 asin_f32(typename V::F32 x) {
  const auto parts = asin_parts<V>(x);
  const auto far = from_half_pi<V>(V::add(parts.small, parts.small));
  return with_sign_of<V>(V::select(parts.has_root, far, parts.small), x);
}

template <class V>
typename V::F32 acos_f32(typename V::F32 x) {
  const auto parts = asin_parts<V>(x);
  const auto near = from_half_pi<V>(with_sign_of<V>(parts.small, x));
  // Twice this.
  const auto half = V::select(V::less(x, V::set(0.0f)), from_half_pi<V>(parts.small), parts.small);
  return V::select(parts.has_root, V::add(half, half), near);
}

// By that of 1 / |x| where |x| > 1.
template <class V>
typename V::F32 atan_f32(typename V::F32 x) {
  // u + u^3 p(u²)
  constexpr float p_of[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f,  -0x1.242086p-3f, 0x1.c08c48p-4f,  -0x1.5808e2p-4f,
                            0x1.da285ap-5f,  -0x1.fd7808p-6f, 0x1.641aa2p-7f,  -0x1.d33fdcp-10f};
  const auto t = absolute<V>(x);
  const auto is_large = V::less(V::set(1.0f), t);
  const auto u = V::select(is_large, V::div(V::set(1.0f), t), t);
  const auto square = V::mul(u, u);
  const auto near = V::fma(V::mul(u, square), polynomial<V>(p_of, square), u);
  return with_sign_of<V>(V::select(is_large, from_half_pi<V>(near), near), x);
}

// ---- hyperbolic functions ----

// exp(x) / 2, x in [0, 90] or NaN.
template <class V>
typename V::F32 half_exp(typename V::F32 x) {
  const auto parts = exp_parts<V>(V::min(V::set(90.0f), x));
  return scaled<V>(V::add(V::set(1.0f), parts.p), V::sub_s32(parts.n_bits, V::set_s32(1)));
}

template <class V>
typename V::F32 sinh_f32(typename V::F32 x) {
  // t + t^3 p(t²) below 1
  constexpr float p_of[] = {0x1.555556p-3f, 0x1.1110e0p-7f, 0x1.a022bcp-13f, 0x1.756c1ep-19f};
  const auto t = absolute<V>(x);
  const auto square = V::mul(t, t);
  const auto near = V::fma(V::mul(t, square), polynomial<V>(p_of, square), t);
  const auto e = half_exp<V>(t);
  const auto far = V::sub(e, V::div(V::set(0.25f), e));
  return with_sign_of<V>(V::select(V::less(t, V::set(1.0f)), near, far), x);
}

template <class V>
typename V::F32 cosh_f32(typename V::F32 x) {
  const auto e = half_exp<V>(absolute<V>(x));
  return V::add(e, V::div(V::set(0.25f), e));
}

// log(1 + x), x in [0, 2^127], infinity or NaN.
template <class V>
typename V::F32 positive_log1p(typename V::F32 x) {
  constexpr std::int32_t kTwoThirds = 0x3f2aaaab, kOneBits = 0x3f800000;
  const auto one = V::set(1.0f);
  const auto sum = V::add(one, x);
  // What the sum lost: exact.
  const auto lost = V::select(V::less(x, one), V::sub(x, V::sub(sum, one)), V::sub(one, V::sub(sum, x)));
  // 1 + x = 2^k (1 + f), 1 + f in [2/3, 4/3).
  const auto bits = V::as_s32(sum);
  const auto k = V::template shift_right<23>(V::sub_s32(bits, V::set_s32(kTwoThirds)));
  const auto k_bits = V::template shift_left<23>(k);
  const auto m = V::as_f32(V::sub_s32(bits, k_bits));
  const auto scale = V::as_f32(V::sub_s32(V::set_s32(kOneBits), k_bits));  // 2^-k
  const auto f = V::fma(lost, scale, V::sub(m, one));
  const auto y = log_of_parts<V>(V::to_f32(k), f);
  return V::select(V::less(x, V::set(__builtin_inff())), y, x);  // infinity, NaN
}

// Beyond it a square is not needed, which could be too large: sqrt(x² +- 1) is x.
constexpr float kSquaresMatter = 0x1p28f;

// log(1 + y) where is_large is false, else log(2x), by x/2: 1 + x/2 is less than 2^127.
template <class V>
typename V::F32 log_of_sum(typename V::F32 y, typename V::F32 x, typename V::Mask is_large) {
  const auto log = positive_log1p<V>(V::select(is_large, V::mul(V::set(0.5f), x), y));
  return V::add(log, V::select(is_large, V::set(2.0f * kLogOf2High), V::set(0.0f)));
}

template <class V>
typename V::F32 asinh_f32(typename V::F32 x) {
  const auto t = absolute<V>(x);
  const auto is_large = V::less(V::set(kSquaresMatter), t);
  const auto square = V::mul(t, t);
  const auto root = V::add(V::set(1.0f), V::sqrt(V::add(V::set(1.0f), square)));
  return with_sign_of<V>(log_of_sum<V>(V::add(t, V::div(square, root)), t, is_large), x);
}

// NaN below 1.
template <class V>
typename V::F32 acosh_f32(typename V::F32 x) {
  const auto is_large = V::less(V::set(kSquaresMatter), x);
  const auto t = V::sub(x, V::set(1.0f));
  const auto root = V::sqrt(V::mul(t, V::add(t, V::set(2.0f))));
  const auto y = log_of_sum<V>(V::add(t, root), x, is_large);
  return V::select(V::less(x, V::set(1.0f)), V::set(__builtin_nanf("")), y);
}

// log(1 + 2t / (1 - t)) / 2, t = |x|; NaN beyond 1.
template <class V>
typename V::F32 atanh_f32(typename V::F32 x) {
  const auto t = absolute<V>(x);
  const auto y = V::mul(V::set(0.5f), positive_log1p<V>(V::div(V::add(t, t), V::sub(V::set(1.0f), t))));
  const auto inside = V::select(V::less(V::set(1.0f), t), V::set(__builtin_nanf("")), y);
  return with_sign_of<V>(inside, x);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_BASE_ELEMENTARY_ANGLES_H_
