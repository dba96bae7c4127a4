// The loops of eltwise/ over any Simd, those of f32 here. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_GENERIC_H_
#define OCTAVO_KERNELS_ELTWISE_GENERIC_H_

#include "kernels/eltwise/pairs.h"
#include "kernels/eltwise/rows.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

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
  return {.pairs = &pairs<S>,
          .sums = &finish_sums<S>,
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
