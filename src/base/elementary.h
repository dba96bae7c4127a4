// Elementary functions of f32, each defined once over a vector type V: Lane of base/lane.h for references, the Simd
// types of kernels/simd/ for kernels, all with the same bits. A kernel's generic.h calls exp_f32<S>(x) on an S::F32.
// Only IEEE additions, products, quotients, square roots, fma, comparisons and integer operations, in this order.
// Coefficients: scripts/make_elementary_coefficients.py; errors measured: docs/numerics.md. They need round-to-nearest.
// Part of base/. Internal linkage only: per-ISA files include this.
#ifndef OCTAVO_BASE_ELEMENTARY_H_
#define OCTAVO_BASE_ELEMENTARY_H_

#include <cstddef>
#include <cstdint>

#include "base/lane.h"
#include "base/math.h"

namespace octavo {
namespace {

// sum of c[i] * x^i by Horner's rule, a chain of fma.
template <class V, std::size_t n>
constexpr typename V::F32 polynomial(const float (&c)[n], typename V::F32 x) {
  typename V::F32 sum = V::set(c[n - 1]);
  for (std::size_t i = n - 1; i > 0; --i) sum = V::fma(sum, x, V::set(c[i - 1]));
  return sum;
}

template <class V>
constexpr typename V::S32 sign_bits(typename V::F32 x) {
  return V::and_s32(V::as_s32(x), V::set_s32(-0x7fffffff - 1));
}
template <class V>
constexpr typename V::F32 absolute(typename V::F32 x) {
  return V::as_f32(V::and_s32(V::as_s32(x), V::set_s32(0x7fffffff)));
}
template <class V>
constexpr typename V::F32 negated(typename V::F32 x) {
  return V::as_f32(V::xor_s32(V::as_s32(x), V::set_s32(-0x7fffffff - 1)));
}
// x, not negative, with the sign of y.
template <class V>
constexpr typename V::F32 with_sign_of(typename V::F32 x, typename V::F32 y) {
  return V::as_f32(V::xor_s32(V::as_s32(x), sign_bits<V>(y)));
}
// x in [lowest, highest]; NaN stays NaN.
template <class V>
constexpr typename V::F32 clamped(typename V::F32 x, float lowest, float highest) {
  return V::min(V::set(highest), V::max(V::set(lowest), x));
}

// ---- exponentials ----

// Added to a number below 2^22 it rounds it to a whole number, which then is in the low bits of the sum.
constexpr float kToWhole = 0x1.8p23f;
constexpr float kLogOf2High = 0x1.62e43p-1f, kLogOf2Low = -0x1.05c61p-29f;  // log(2)

// x = n log(2) + r with |r| <= log(2)/2, |x| < 2^21: p = exp(r) - 1; `n_bits` is n, to which V::as_s32(kToWhole) is
// added.
template <class V>
struct ExpParts {
  typename V::F32 p;
  typename V::S32 n_bits;
};

// exp(r) - 1, |r| <= log(2)/2.
template <class V>
constexpr typename V::F32 exp_minus_one_near_0(typename V::F32 r) {
  // r + r^2 q(r)
  constexpr float q_of[] = {0x1.000000p-1f, 0x1.555554p-3f,  0x1.5554eap-5f,
                            0x1.1113acp-7f, 0x1.6d4e40p-10f, 0x1.9c333ap-13f};
  return V::fma(V::mul(r, r), polynomial<V>(q_of, r), r);
}

// exp(x + low), low at most about an ulp of x.
template <class V>
constexpr ExpParts<V> exp_parts(typename V::F32 x, typename V::F32 low) {
  constexpr float kInverse = 0x1.715476p+0f;  // 1 / log(2)
  const auto shifted = V::fma(x, V::set(kInverse), V::set(kToWhole));
  const auto n = V::sub(shifted, V::set(kToWhole));
  const auto coarse = V::fma(n, V::set(-kLogOf2High), x);  // exact
  const auto r = V::add(V::fma(n, V::set(-kLogOf2Low), coarse), low);
  return {exp_minus_one_near_0<V>(r), V::as_s32(shifted)};
}
template <class V>
constexpr ExpParts<V> exp_parts(typename V::F32 x) {
  return exp_parts<V>(x, V::set(-0.0f));  // adds nothing, zeros keep their sign
}

// 2^n, n in [-126, 127].
template <class V>
constexpr typename V::F32 power_of_two(typename V::S32 n_bits) {
  return V::as_f32(V::add_s32(V::template shift_left<23>(n_bits), V::set_s32(0x3f800000)));
}

// y * 2^n rounded once, n in [-200, 254], |y| in [2^-20, 4): the first product is exact.
template <class V>
constexpr typename V::F32 scaled(typename V::F32 y, typename V::S32 n_bits) {
  if constexpr (requires { V::scale(y, y); }) return V::scale(y, V::sub(V::as_f32(n_bits), V::set(kToWhole)));
  const auto n = V::sub_s32(n_bits, V::set_s32(0x4b400000));
  const auto half = V::template shift_right<1>(n);
  return V::mul(V::mul(y, power_of_two<V>(half)), power_of_two<V>(V::sub_s32(n, half)));
}

// exp(x); 0 below about -103.97, infinity above about 88.72.
template <class V>
constexpr typename V::F32 exp_f32(typename V::F32 x) {
  const auto parts = exp_parts<V>(clamped<V>(x, -104.0f, 89.0f));
  return scaled<V>(V::add(V::set(1.0f), parts.p), parts.n_bits);
}

// exp(x) of x <= 0, as weights are made of: 0 below log(2^-126), since processors take many times as long for results
// that are denormal.
template <class V>
constexpr typename V::F32 exp_weight_f32(typename V::F32 x) {
  constexpr float kLowest = -0x1.5d589ep+6f;  // the last one whose result is not less than 2^-126
  const auto parts = exp_parts<V>(V::max(V::set(kLowest), x));
  const auto value = V::mul(V::add(V::set(1.0f), parts.p), power_of_two<V>(parts.n_bits));
  return V::select(V::less(x, V::set(kLowest)), V::set(0.0f), value);
}

// exp(x) - 1.
template <class V>
constexpr typename V::F32 expm1_f32(typename V::F32 x) {
  const auto parts = exp_parts<V>(clamped<V>(x, -30.0f, 89.0f));
  // 2 (2^(n-1) p + (2^(n-1) - 1/2)): 2^n itself may be too large.
  const auto half = power_of_two<V>(V::sub_s32(parts.n_bits, V::set_s32(1)));
  const auto value = V::fma(half, parts.p, V::sub(half, V::set(0.5f)));
  return V::add(value, value);
}

// tanh(x) = t + t^3 p(t²) below kEdge, else 1 - 2q / (1 + q), q = exp(-2t), t = |x|.
template <class V>
constexpr typename V::F32 tanh_f32(typename V::F32 x) {
  constexpr float kEdge = 0.6f;
  constexpr float p_of[] = {-0x1.55553ep-2f, 0x1.1109bep-3f, -0x1.b89abap-5f, 0x1.54c3c2p-6f, -0x1.828776p-8f};
  const auto t = V::min(V::set(10.0f), absolute<V>(x));
  const auto square = V::mul(t, t);
  const auto near = V::fma(V::mul(t, square), polynomial<V>(p_of, square), t);
  const auto parts = exp_parts<V>(V::mul(t, V::set(-2.0f)));
  const auto scale = power_of_two<V>(parts.n_bits);
  const auto q = V::fma(scale, parts.p, scale);
  const auto far = V::sub(V::set(1.0f), V::div(V::add(q, q), V::add(V::set(1.0f), q)));
  return with_sign_of<V>(V::select(V::less(t, V::set(kEdge)), near, far), x);
}

// x / (1 + exp(-z)), by e = exp(-|z|), which never overflows.
template <class V>
constexpr typename V::F32 times_sigmoid(typename V::F32 x, typename V::F32 z) {
  const auto e = exp_f32<V>(negated<V>(absolute<V>(z)));
  const auto numerator = V::select(V::less(z, V::set(0.0f)), e, V::set(1.0f));
  return V::mul(x, V::div(numerator, V::add(V::set(1.0f), e)));
}
template <class V>
constexpr typename V::F32 silu_f32(typename V::F32 x) {
  return times_sigmoid<V>(x, x);
}
// x/2 (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class V>
constexpr typename V::F32 gelu_tanh_f32(typename V::F32 x) {
  constexpr float kLinear = 0x1.988454p+0f, kCubic = 0x1.2444f2p-4f;
  return times_sigmoid<V>(x, V::mul(x, V::fma(V::set(kCubic), V::mul(x, x), V::set(kLinear))));
}

// The sigmoid as ONNX Runtime computes it: see math_sigmoid_f32.
template <class V>
constexpr typename V::F32 sigmoid_f32(typename V::F32 x) {
  // 1/2 + x p(x²) / q(x²), coefficients of MLAS (onnxruntime/core/mlas/lib/logistic.cpp), the highest power last.
  constexpr float p_of[] = {2.48287947061529e-01f, 8.51377133304701e-03f, 6.08574864600143e-05f, 1.15627324459942e-07f,
                            4.37031012579801e-11f};
  constexpr float q_of[] = {9.93151921023180e-01f, 1.16817656904453e-01f, 1.70198817374094e-03f,
                            6.29106785017040e-06f, 5.76102136993427e-09f, 6.10247389755681e-13f};
  const auto bounded = clamped<V>(x, -18.0f, 18.0f);
  const auto square = V::mul(bounded, bounded);
  const auto quotient = V::div(V::mul(bounded, polynomial<V>(p_of, square)), polynomial<V>(q_of, square));
  return clamped<V>(V::add(quotient, V::set(0.5f)), 0.0f, 1.0f);
}

// x tanh(log(1 + e)) = x n / (n + 2), e = exp(x), n = e (e + 2).
template <class V>
constexpr typename V::F32 mish_f32(typename V::F32 x) {
  const auto e = exp_f32<V>(V::min(V::set(20.0f), x));
  const auto n = V::mul(e, V::add(e, V::set(2.0f)));
  return V::mul(x, V::div(n, V::add(n, V::set(2.0f))));
}

// ---- logarithms ----

// k log(2) + log(1 + f), f in [-1/3, 1/3].
template <class V>
constexpr typename V::F32 log_of_parts(typename V::F32 k, typename V::F32 f) {
  // log(1 + f) = f + f^2 q(f)
  constexpr float q_of[] = {-0x1.000000p-1f, 0x1.555506p-2f,  -0x1.fffef8p-3f, 0x1.99d072p-3f, -0x1.559c54p-3f,
                            0x1.1ed19ep-3f,  -0x1.f339a6p-4f, 0x1.1e93a0p-3f,  -0x1.078678p-3f};
  const auto tail = V::fma(V::mul(f, f), polynomial<V>(q_of, f), V::mul(k, V::set(kLogOf2Low)));
  return V::fma(k, V::set(kLogOf2High), V::add(f, tail));
}

// log(x); -infinity of 0, NaN below it.
template <class V>
constexpr typename V::F32 log_f32(typename V::F32 x) {
  constexpr std::int32_t kTwoThirds = 0x3f2aaaab;
  const auto is_tiny = V::less(x, V::set(0x1p-126f));
  const auto bits = V::as_s32(V::select(is_tiny, V::mul(x, V::set(0x1p24f)), x));
  // x = 2^k m, m in [2/3, 4/3).
  const auto k = V::template shift_right<23>(V::sub_s32(bits, V::set_s32(kTwoThirds)));
  const auto m = V::as_f32(V::sub_s32(bits, V::template shift_left<23>(k)));
  const auto whole = V::add(V::to_f32(k), V::select(is_tiny, V::set(-24.0f), V::set(0.0f)));
  auto y = log_of_parts<V>(whole, V::sub(m, V::set(1.0f)));
  y = V::select(V::less(x, V::set(__builtin_inff())), y, x);  // infinity, NaN
  y = V::select(V::less(x, V::set(0.0f)), V::set(__builtin_nanf("")), y);
  return V::select(V::equal(x, V::set(0.0f)), V::set(-__builtin_inff()), y);
}

// log(1 + exp(x)) = max(x, 0) + log(1 + e), e = exp(-|x|).
template <class V>
constexpr typename V::F32 softplus_f32(typename V::F32 x) {
  const auto e = exp_f32<V>(negated<V>(absolute<V>(x)));
  const auto is_large = V::less(V::set(0x1.555556p-2f), e);  // then log(2) + log((1 + e) / 2)
  const auto f = V::select(is_large, V::mul(V::sub(e, V::set(1.0f)), V::set(0.5f)), e);
  const auto k = V::select(is_large, V::set(1.0f), V::set(0.0f));
  return V::add(V::max(V::set(0.0f), x), log_of_parts<V>(k, f));
}

// ---- the error function ----

template <class V>
constexpr typename V::F32 erf_f32(typename V::F32 x) {
  // erf(x) = x + x p(x²) below kEdge, else 1 - exp(-(t + c(t))), t = |x|
  constexpr float kEdge = 0.925f;
  constexpr float p_of[] = {0x1.06eba6p-3f,  -0x1.8126e6p-2f, 0x1.ce1a4cp-4f,
                            -0x1.b687ecp-6f, 0x1.4721d8p-8f,  -0x1.399e76p-11f};
  constexpr float c_of[] = {0x1.aa992ap-13f, 0x1.056a0cp-3f, 0x1.4643ccp-1f,  0x1.a982c0p-4f,
                            -0x1.6bcb36p-6f, 0x1.8e2256p-9f, -0x1.99b146p-13f};
  const auto t = V::min(V::set(4.0f), absolute<V>(x));
  const auto near = V::fma(polynomial<V>(p_of, V::mul(t, t)), t, t);
  const auto parts = exp_parts<V>(negated<V>(V::add(t, polynomial<V>(c_of, t))));
  const auto scale = power_of_two<V>(parts.n_bits);
  const auto far = V::fma(negated<V>(scale), parts.p, V::sub(V::set(1.0f), scale));
  return with_sign_of<V>(V::select(V::less(t, V::set(kEdge)), near, far), x);
}

// x Φ(x), Φ(x) = 1/2 + x r(x²) below kEdge. Else max(x, 0) - u Q(u), u = |x|, Q(u) = 1 - Φ(u) = exp(-u²/2) g(u): small
// results keep their digits.
template <class V>
constexpr typename V::F32 gelu_f32(typename V::F32 x) {
  constexpr float kEdge = 0.75f;
  constexpr float r_of[] = {0x1.988452p-2f, -0x1.1057b6p-4f, 0x1.46b130p-7f, -0x1.342136p-10f, 0x1.9c6c84p-14f};
  // g(u) = t p(t), t = 1 / (1 + u/2)
  constexpr float p_of[] = {0x1.98871cp-3f,  0x1.982882p-3f, 0x1.375f9ap-3f, 0x1.003228p-5f,  0x1.6e4b9cp-6f,
                            -0x1.5dae54p-2f, 0x1.278330p-2f, 0x1.102084p-4f, -0x1.7cd0c2p-3f, 0x1.1726d6p-4f};
  const auto u = V::min(V::set(15.0f), absolute<V>(x));
  const auto square = V::mul(u, u);
  const auto near = V::mul(x, V::fma(x, polynomial<V>(r_of, square), V::set(0.5f)));
  const auto lost = V::fma(u, u, negated<V>(square));
  const auto parts = exp_parts<V>(V::mul(square, V::set(-0.5f)), V::mul(lost, V::set(-0.5f)));
  const auto t = V::div(V::set(1.0f), V::fma(V::set(0.5f), u, V::set(1.0f)));
  const auto g = V::mul(t, polynomial<V>(p_of, t));
  const auto tail = scaled<V>(V::fma(V::mul(u, g), parts.p, V::mul(u, g)), parts.n_bits);
  return V::select(V::less(u, V::set(kEdge)), near, V::sub(V::max(V::set(0.0f), x), tail));
}

// ---- angles ----

// f(x) lane by lane, rounded once.
template <class V>
typename V::F32 by_lanes(double (*f)(double), typename V::F32 x) {
  float values[V::kLanes];
  V::store(values, x);
  for (float& value : values) value = static_cast<float>(f(static_cast<double>(value)));
  return V::load(values);
}

constexpr float kLargestAngle = 65536.0f;

constexpr float kHalfPiHigh = 0x1.921fb6p+0f, kHalfPiMiddle = -0x1.777a5cp-25f, kHalfPiLow = -0x1.ee59dap-50f;

// x = n pi/2 + r, |r| <= pi/4: sine and cosine of r; `n_bits` is n, to which V::as_s32(kToWhole) is added.
template <class V>
struct AngleParts {
  typename V::F32 sine, cosine;
  typename V::S32 n_bits;
};

// 0 <= x <= kLargestAngle.
template <class V>
AngleParts<V> angle_parts(typename V::F32 x) {
  constexpr float kInverse = 0x1.45f306p-1f;  // 2 / pi
  // sin(r) = r + r^3 p(r²), cos(r) = 1 - r²/2 + r^4 q(r²)
  constexpr float p_of[] = {-0x1.555546p-3f, 0x1.110778p-7f, -0x1.9953fep-13f};
  constexpr float q_of[] = {0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f};
  const auto shifted = V::fma(x, V::set(kInverse), V::set(kToWhole));
  const auto n = V::sub(shifted, V::set(kToWhole));
  auto r = V::fma(n, V::set(-kHalfPiHigh), x);
  r = V::fma(n, V::set(-kHalfPiMiddle), r);
  r = V::fma(n, V::set(-kHalfPiLow), r);
  const auto square = V::mul(r, r);
  const auto sine = V::fma(V::mul(r, square), polynomial<V>(p_of, square), r);
  const auto cosine =
      V::fma(V::mul(square, square), polynomial<V>(q_of, square), V::fma(square, V::set(-0.5f), V::set(1.0f)));
  return {sine, cosine, V::as_s32(shifted)};
}

template <class V>
typename V::Mask is_odd(typename V::S32 n) {
  const auto one_if_even = V::as_f32(V::xor_s32(V::template shift_left<31>(n), V::as_s32(V::set(1.0f))));
  return V::less(one_if_even, V::set(0.0f));
}

// sin(x + shift pi/2), 0 <= x <= kLargestAngle.
template <class V>
typename V::F32 shifted_sin(typename V::F32 x, std::int32_t shift) {
  const auto parts = angle_parts<V>(x);
  const auto turns = V::add_s32(parts.n_bits, V::set_s32(shift));
  const auto y = V::select(is_odd<V>(turns), parts.cosine, parts.sine);
  const auto sign = V::template shift_left<30>(V::and_s32(turns, V::set_s32(2)));
  return V::as_f32(V::xor_s32(V::as_s32(y), sign));
}

// Angles beyond kLargestAngle are rare, and reduced in f64.
template <class V>
typename V::F32 sin_f32(typename V::F32 x) {
  const auto magnitude = absolute<V>(x);
  const auto y = V::as_f32(V::xor_s32(V::as_s32(shifted_sin<V>(magnitude, 0)), sign_bits<V>(x)));
  if (!V::any_greater(magnitude, V::set(kLargestAngle))) return y;
  return V::select(V::less(V::set(kLargestAngle), magnitude), by_lanes<V>(math_sin, x), y);
}
template <class V>
typename V::F32 cos_f32(typename V::F32 x) {
  const auto magnitude = absolute<V>(x);
  const auto y = shifted_sin<V>(magnitude, 1);
  if (!V::any_greater(magnitude, V::set(kLargestAngle))) return y;
  return V::select(V::less(V::set(kLargestAngle), magnitude), by_lanes<V>(math_cos, x), y);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_BASE_ELEMENTARY_H_
