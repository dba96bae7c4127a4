// unary of f32: what every function is, once for the reference and for all kernels. Part of ops/. Internal linkage
// only: per-ISA files include this.
#ifndef OCTAVO_OPS_UNARY_F32_H_
#define OCTAVO_OPS_UNARY_F32_H_

#include <cstdint>

#include "base/elementary_angles.h"
#include "ops/unary/kind.h"

namespace octavo {
namespace {

template <class V>
constexpr typename V::F32 where_negative(typename V::F32 x, typename V::F32 negative, typename V::F32 other) {
  return V::select(V::less(x, V::set(0.0f)), negative, other);
}

template <class V>
constexpr typename V::F32 sign_f32(typename V::F32 x) {  // x itself where it is 0 or NaN
  const auto not_negative = V::select(V::less(V::set(0.0f), x), V::set(1.0f), x);
  return where_negative<V>(x, V::set(-1.0f), not_negative);
}

// ONNX Shrink: towards 0 by `bias` beyond `edge`, and 0 between -edge and edge.
template <class V>
constexpr typename V::F32 shrink_f32(typename V::F32 x, typename V::F32 edge, typename V::F32 bias) {
  const auto upper = V::select(V::less(edge, x), V::sub(x, bias), V::set(0.0f));
  return V::select(V::less(x, negated<V>(edge)), V::add(x, bias), upper);
}

// Large angles are reduced in f64 by a function.
template <UnaryKind kind, class V>
typename V::F32 angular_f32(typename V::F32 x) {
  switch (kind) {
    case UnaryKind::sin: return sin_f32<V>(x);
    case UnaryKind::cos: return cos_f32<V>(x);
    case UnaryKind::tan: return tan_f32<V>(x);
    case UnaryKind::asin: return asin_f32<V>(x);
    case UnaryKind::acos: return acos_f32<V>(x);
    case UnaryKind::atan: return atan_f32<V>(x);
    case UnaryKind::sinh: return sinh_f32<V>(x);
    case UnaryKind::cosh: return cosh_f32<V>(x);
    case UnaryKind::asinh: return asinh_f32<V>(x);
    case UnaryKind::acosh: return acosh_f32<V>(x);
    case UnaryKind::atanh: return atanh_f32<V>(x);
    default: return x;
  }
}

// f(x) by `kind`, but for those that give booleans or take integers alone. NaN gives NaN.
template <UnaryKind kind, class V>
constexpr typename V::F32 unary_f32(typename V::F32 x, UnaryNumbers numbers) {
  const auto alpha = V::set(numbers.alpha), beta = V::set(numbers.beta);
  const auto zero = V::set(0.0f), one = V::set(1.0f);
  if constexpr (is_angular(kind)) return angular_f32<kind, V>(x);
  switch (kind) {
    case UnaryKind::relu: return V::max(zero, x);
    case UnaryKind::sigmoid: return sigmoid_f32<V>(x);
    case UnaryKind::tanh: return tanh_f32<V>(x);
    case UnaryKind::exp: return exp_f32<V>(x);
    case UnaryKind::log: return log_f32<V>(x);
    case UnaryKind::sqrt: return V::sqrt(x);
    case UnaryKind::reciprocal: return V::div(one, x);
    case UnaryKind::neg: return negated<V>(x);
    case UnaryKind::abs: return absolute<V>(x);
    case UnaryKind::floor: return V::floor(x);
    case UnaryKind::ceil: return V::ceil(x);
    case UnaryKind::round: return V::nearest(x);
    case UnaryKind::sign: return sign_f32<V>(x);
    case UnaryKind::erf: return erf_f32<V>(x);
    case UnaryKind::gelu: return gelu_f32<V>(x);
    case UnaryKind::gelu_tanh: return gelu_tanh_f32<V>(x);
    case UnaryKind::softplus: return softplus_f32<V>(x);
    case UnaryKind::softsign: return V::div(x, V::add(one, absolute<V>(x)));
    case UnaryKind::mish: return mish_f32<V>(x);
    case UnaryKind::silu: return silu_f32<V>(x);
    case UnaryKind::hard_sigmoid: return clamped<V>(V::fma(alpha, x, beta), 0.0f, 1.0f);
    // x + 3 keeps the digits near -3; the quotient first, since 6x may be too large.
    case UnaryKind::hard_swish: return V::mul(x, V::div(clamped<V>(V::add(x, V::set(3.0f)), 0.0f, 6.0f), V::set(6.0f)));
    case UnaryKind::leaky_relu: return where_negative<V>(x, V::mul(alpha, x), x);
    case UnaryKind::elu: return where_negative<V>(x, V::mul(alpha, expm1_f32<V>(x)), x);
    case UnaryKind::selu: return V::mul(beta, where_negative<V>(x, V::mul(alpha, expm1_f32<V>(x)), x));
    case UnaryKind::celu: return where_negative<V>(x, V::mul(alpha, expm1_f32<V>(V::div(x, alpha))), x);
    case UnaryKind::thresholded_relu: return V::select(V::less(alpha, x), x, zero);
    case UnaryKind::clip: return V::min(beta, V::max(alpha, x));
    case UnaryKind::shrink: return shrink_f32<V>(x, alpha, beta);
    default: return x;
  }
}

// n elements; y may be x.
template <UnaryKind kind, class V>
void unary_line(const float* x, float* y, std::int64_t n, UnaryNumbers numbers) {
  std::int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(y + i, unary_f32<kind, V>(V::load(x + i), numbers));
  if (i < n) V::store_first(y + i, unary_f32<kind, V>(V::load_first(x + i, n - i, 0.0f), numbers), n - i);
}

// For every kind.
template <class V, int k = 0>
constexpr UnaryLines unary_lines(UnaryLines lines = {}) {
  if constexpr (k == count_of(UnaryKind{})) {
    return lines;
  } else {
    lines.of[k] = &unary_line<static_cast<UnaryKind>(k), V>;
    return unary_lines<V, k + 1>(lines);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_OPS_UNARY_F32_H_
