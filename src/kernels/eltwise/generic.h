// The loops of eltwise/ over any Simd, those of f32 here. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_GENERIC_H_
#define OCTAVO_KERNELS_ELTWISE_GENERIC_H_

#include "base/elementary_pow.h"
#include "kernels/eltwise/elements.h"
#include "kernels/eltwise/pairs.h"
#include "kernels/eltwise/rows.h"
#include "kernels/eltwise/s16.h"
#include "kernels/simd/scalar.h"
#include "ops/unary/f32.h"

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

// Tails as vectors too: a power is many operations.
template <class S>
void pow_rows(const F32Rows& f) {
  for (std::int64_t r = 0; r < f.rows; ++r) {
    const float* a = f.a + r * f.a_row_stride;
    const float* b = f.b + r * f.b_row_stride;
    float* y = f.y + r * f.n;
    for (std::int64_t i = 0; i < f.n; i += S::kLanes) {
      const std::int64_t left = f.n - i;
      const auto at = [&](const float* p, int step) {
        if (step == 0) return S::set(*p);
        return left < S::kLanes ? S::load_first(p + i, left, 1.0f) : S::load(p + i);
      };
      const auto power = pow_f32<S>(at(a, f.a_step), at(b, f.b_step));
      if (left < S::kLanes) S::store_first(y + i, power, left);
      else S::store(y + i, power);
    }
  }
}

// As wide as floats first: GCC 12 vectorizes no comparison of floats into bytes.
template <class Op, int a_step, int b_step>
void compare_row(const float* a, const float* b, std::uint8_t* y, std::int64_t n) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t first = 0; first < n; first += kBlock, a += a_step * kBlock, b += b_step * kBlock) {
    const std::int64_t left = n - first, count = left < kBlock ? left : kBlock;
    std::int32_t wide[kBlock];
    for (std::int64_t i = 0; i < count; ++i) wide[i] = Op::apply(a[a_step * i], b[b_step * i]) ? 1 : 0;
    for (std::int64_t i = 0; i < count; ++i) y[first + i] = static_cast<std::uint8_t>(wide[i]);
  }
}
template <class Op>
void compare_rows(const F32Comparison& f) {
  for (std::int64_t r = 0; r < f.rows; ++r) {
    const float* a = f.a + r * f.a_row_stride;
    const float* b = f.b + r * f.b_row_stride;
    std::uint8_t* y = f.y + r * f.n;
    if (f.a_step == 0) compare_row<Op, 0, 1>(a, b, y, f.n);
    else if (f.b_step == 0) compare_row<Op, 1, 0>(a, b, y, f.n);
    else compare_row<Op, 1, 1>(a, b, y, f.n);
  }
}

// The compiler vectorizes the loops.
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

void find_nan(const float* x, std::uint8_t* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] != x[i] ? 1 : 0;
}

void find_either(const float* x, std::uint8_t* y, std::int64_t n, float a, float b) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = ((x[i] == a) | (x[i] == b)) ? 1 : 0;
}

template <class S>
constexpr EltwiseFunctions eltwise_functions(void (*pairs_of)(const PairRows&) = &pairs<S>) {
  return {.pairs = pairs_of,
          .sums = &finish_sums<S>,
          .s16_pairs = &s16_pairs<S>,
          .joined_sums = &joined_sums<S>,
          .add = &f32_rows<S, AddF32>,
          .sub = &f32_rows<S, SubF32>,
          .mul = &f32_rows<S, MulF32>,
          .div = &f32_rows<S, DivF32>,
          .min = &f32_rows_by_element<MinF32>,
          .max = &f32_rows_by_element<MaxF32>,
          .prelu = &f32_rows_by_element<PreluF32>,
          .pow = &pow_rows<S>,
          .equal = &compare_rows<Equal>,
          .less = &compare_rows<Less>,
          .less_or_equal = &compare_rows<LessOrEqual>,
          .unary = unary_lines<S>(),
          .is_nan = &find_nan,
          .is_one_of = &find_either};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_GENERIC_H_
