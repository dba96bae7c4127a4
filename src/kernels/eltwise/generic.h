// The loops of eltwise/ over any Simd. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_GENERIC_H_
#define OCTAVO_KERNELS_ELTWISE_GENERIC_H_

#include "kernels/eltwise/rows.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S, bool kSigned>
typename S::S32 load_byte(const std::uint8_t* p) {
  return kSigned ? S::widen_s8(p) : S::widen_u8(p);
}
// An operand whose elements are all the same.
template <class S, bool kSigned>
typename S::S32 repeat_byte(const std::uint8_t* p) {
  return S::set_s32(kSigned ? static_cast<std::int8_t>(*p) : static_cast<std::int32_t>(*p));
}
template <class S, bool kSigned, int kStep>
typename S::S32 operand_at(const std::uint8_t* p, std::int64_t i) {
  if constexpr (kStep == 0) return repeat_byte<S, kSigned>(p);
  else return load_byte<S, kSigned>(p + i);
}

template <class S>
typename S::F32 without_zero_point(typename S::S32 x, float zero_point) {
  return S::sub(S::to_f32(x), S::set(zero_point));
}
template <class S>
typename S::S32 rounded(const QuantizedRows& q, typename S::F32 value) {
  return S::add_s32(S::round(S::min(S::max(value, S::set(q.lowest)), S::set(q.highest))), S::set_s32(q.shift));
}

struct QuantizedAdd {
  template <class S>
  static typename S::S32 apply(const QuantizedRows& q, typename S::S32 a, typename S::S32 b) {
    const typename S::F32 inner = S::fma(without_zero_point<S>(b, q.b_zero_point), S::set(q.b_ratio), S::set(q.fixed));
    return rounded<S>(q, S::fma(without_zero_point<S>(a, q.a_zero_point), S::set(q.a_ratio), inner));
  }
};
struct QuantizedMul {
  // Products of two differences of 8-bit values are exact in f32.
  template <class S>
  static typename S::S32 apply(const QuantizedRows& q, typename S::S32 a, typename S::S32 b) {
    const typename S::F32 product =
        S::mul(without_zero_point<S>(a, q.a_zero_point), without_zero_point<S>(b, q.b_zero_point));
    return rounded<S>(q, S::add(S::mul(product, S::set(q.ratio)), S::set(q.fixed)));
  }
};
struct IntegerAdd {
  template <class S>
  static typename S::S32 apply(const QuantizedRows& q, typename S::S32 a, typename S::S32 b) {
    const typename S::S32 products =
        S::add_s32(S::mul_s32(a, S::set_s32(q.a_multiplier)), S::mul_s32(b, S::set_s32(q.b_multiplier)));
    const typename S::S32 shifted = S::shift_right_s32(S::add_s32(products, S::set_s32(q.bias)), q.right_shift);
    const typename S::S32 value = S::add_s32(shifted, S::set_s32(q.zero_point));
    return S::min_s32(S::max_s32(value, S::set_s32(q.integer_lowest)), S::set_s32(q.integer_highest));
  }
};

template <class S, class Op, bool kASigned, bool kBSigned, int kAStep, int kBStep>
void quantized_block(const QuantizedRows& q) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const QuantizedRows p = q;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::uint8_t* a = p.a + r * p.a_row_stride;
    const std::uint8_t* b = p.b + r * p.b_row_stride;
    std::uint8_t* y = p.y + r * p.n;
    for_lanes<S>(
        0, p.n, [&]<class T>(std::int64_t i) __attribute__((always_inline)) {
          T::store_bytes(y + i, Op::template apply<T>(p, operand_at<T, kASigned, kAStep>(a, i),
                                                      operand_at<T, kBSigned, kBStep>(b, i)));
        });
  }
}

// b is the same for all rows, as the factors of squeeze-excite are: what is computed of it alone is computed once for a
// few columns of all rows.
template <class S, class Op, bool kASigned, bool kBSigned>
void quantized_columns(const QuantizedRows& q) {
  constexpr std::int64_t kTogether = 4 * S::kLanes;
  const QuantizedRows p = q;
  std::int64_t i = 0;
  for (; i + kTogether <= p.n; i += kTogether) {
    typename S::S32 b[4];
    for (int k = 0; k < 4; ++k) b[k] = load_byte<S, kBSigned>(p.b + i + k * S::kLanes);
    const std::uint8_t* a = p.a + i;
    std::uint8_t* y = p.y + i;
    for (std::int64_t r = 0; r < p.rows; ++r, a += p.a_row_stride, y += p.n) {
      for (int k = 0; k < 4; ++k)
        S::store_bytes(y + k * S::kLanes, Op::template apply<S>(p, load_byte<S, kASigned>(a + k * S::kLanes), b[k]));
    }
  }
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::uint8_t* a = p.a + r * p.a_row_stride;
    std::uint8_t* y = p.y + r * p.n;
    for_lanes<S>(
        i, p.n, [&]<class T>(std::int64_t c) __attribute__((always_inline)) {
          T::store_bytes(y + c,
                         Op::template apply<T>(p, load_byte<T, kASigned>(a + c), load_byte<T, kBSigned>(p.b + c)));
        });
  }
}

template <class S, class Op, bool kASigned, bool kBSigned>
void quantized_rows_of(const QuantizedRows& q) {
  if (q.a_step == 0) quantized_block<S, Op, kASigned, kBSigned, 0, 1>(q);
  else if (q.b_step == 0) quantized_block<S, Op, kASigned, kBSigned, 1, 0>(q);
  else if (q.b_row_stride == 0 && q.rows > 1) quantized_columns<S, Op, kASigned, kBSigned>(q);
  else quantized_block<S, Op, kASigned, kBSigned, 1, 1>(q);
}

template <class S, class Op>
void quantized_rows(const QuantizedRows& q) {
  if (q.a_is_signed)
    (q.b_is_signed ? &quantized_rows_of<S, Op, true, true> : &quantized_rows_of<S, Op, true, false>)(q);
  else (q.b_is_signed ? &quantized_rows_of<S, Op, false, true> : &quantized_rows_of<S, Op, false, false>)(q);
  if (q.table != nullptr) S::lookup(q.table, q.y, q.y, q.rows * q.n);
}

struct AddF32 {
  template <class S>
  static typename S::F32 apply(typename S::F32 a, typename S::F32 b) {
    return S::add(a, b);
  }
};
struct SubF32 {
  template <class S>
  static typename S::F32 apply(typename S::F32 a, typename S::F32 b) {
    return S::sub(a, b);
  }
};
struct MulF32 {
  template <class S>
  static typename S::F32 apply(typename S::F32 a, typename S::F32 b) {
    return S::mul(a, b);
  }
};
struct DivF32 {
  template <class S>
  static typename S::F32 apply(typename S::F32 a, typename S::F32 b) {
    return S::div(a, b);
  }
};

template <class S, class Op>
void f32_rows(const F32Rows& f) {
  for (std::int64_t r = 0; r < f.rows; ++r) {
    const float* a = f.a + r * f.a_row_stride;
    const float* b = f.b + r * f.b_row_stride;
    float* y = f.y + r * f.n;
    if (f.a_step == 0) {
      for_lanes<S>(0, f.n, [=, value = *a]<class T>(std::int64_t i) {
        T::store(y + i, Op::template apply<T>(T::set(value), T::load(b + i)));
      });
    } else if (f.b_step == 0) {
      for_lanes<S>(0, f.n, [=, value = *b]<class T>(std::int64_t i) {
        T::store(y + i, Op::template apply<T>(T::load(a + i), T::set(value)));
      });
    } else {
      for_lanes<S>(0, f.n, [=]<class T>(std::int64_t i) {
        T::store(y + i, Op::template apply<T>(T::load(a + i), T::load(b + i)));
      });
    }
  }
}

// min, max and prelu as the reference writes them; the compiler vectorizes the loops.
struct MinF32 {
  static float apply(float a, float b) { return a < b || a != a ? a : b; }
};
struct MaxF32 {
  static float apply(float a, float b) { return a > b || a != a ? a : b; }
};
struct PreluF32 {
  static float apply(float a, float b) { return a < 0.0f ? a * b : a; }
};
template <class Op>
void f32_rows_by_element(const F32Rows& f) {
  for (std::int64_t r = 0; r < f.rows; ++r) {
    const float* a = f.a + r * f.a_row_stride;
    const float* b = f.b + r * f.b_row_stride;
    float* y = f.y + r * f.n;
    if (f.a_step == 0) {
      for (std::int64_t i = 0; i < f.n; ++i) y[i] = Op::apply(*a, b[i]);
    } else if (f.b_step == 0) {
      for (std::int64_t i = 0; i < f.n; ++i) y[i] = Op::apply(a[i], *b);
    } else {
      for (std::int64_t i = 0; i < f.n; ++i) y[i] = Op::apply(a[i], b[i]);
    }
  }
}

double unit_clamp(double x) { return x < 0.0 ? 0.0 : (x > 1.0 ? 1.0 : x); }

struct Relu {
  static double apply(double x, double, double) { return x < 0.0 ? 0.0 : x; }
};
struct Clip {
  static double apply(double x, double lowest, double highest) {
    const double raised = x < lowest ? lowest : x;
    return raised > highest ? highest : raised;
  }
};
struct LeakyRelu {
  static double apply(double x, double alpha, double) { return x < 0.0 ? alpha * x : x; }
};
struct HardSigmoid {
  static double apply(double x, double alpha, double beta) { return unit_clamp(alpha * x + beta); }
};
struct HardSwish {
  static double apply(double x, double, double) { return x * unit_clamp(x / 6.0 + 0.5); }
};
struct Abs {
  static double apply(double x, double, double) { return __builtin_fabs(x); }
};
struct Neg {
  static double apply(double x, double, double) { return -x; }
};
struct Sqrt {
  static double apply(double x, double, double) { return __builtin_sqrt(x); }
};
struct Reciprocal {
  static double apply(double x, double, double) { return 1.0 / x; }
};
template <class Function>
void f32_line(const F32Line& line) {
  const float* x = line.x;
  float* y = line.y;
  const double alpha = line.alpha, beta = line.beta;
  for (std::int64_t i = 0; i < line.n; ++i)
    y[i] = static_cast<float>(Function::apply(static_cast<double>(x[i]), alpha, beta));
}

template <class S>
constexpr EltwiseFunctions eltwise_functions() {
  return {.quantized_add = &quantized_rows<S, QuantizedAdd>,
          .quantized_mul = &quantized_rows<S, QuantizedMul>,
          .integer_add = &quantized_rows<S, IntegerAdd>,
          .add = &f32_rows<S, AddF32>,
          .sub = &f32_rows<S, SubF32>,
          .mul = &f32_rows<S, MulF32>,
          .div = &f32_rows<S, DivF32>,
          .min = &f32_rows_by_element<MinF32>,
          .max = &f32_rows_by_element<MaxF32>,
          .prelu = &f32_rows_by_element<PreluF32>,
          .relu = &f32_line<Relu>,
          .clip = &f32_line<Clip>,
          .leaky_relu = &f32_line<LeakyRelu>,
          .hard_sigmoid = &f32_line<HardSigmoid>,
          .hard_swish = &f32_line<HardSwish>,
          .abs = &f32_line<Abs>,
          .neg = &f32_line<Neg>,
          .sqrt = &f32_line<Sqrt>,
          .reciprocal = &f32_line<Reciprocal>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_GENERIC_H_
