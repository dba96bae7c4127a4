// The loops of float/ in plain C++, which the compiler vectorizes for each instruction set. Internal linkage only. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_GENERIC_H_
#define OCTAVO_KERNELS_FLOAT_GENERIC_H_

#include "kernels/epilogue/generic.h"
#include "kernels/float/chains.h"
#include "kernels/float/depthwise_pixels.h"
#include "kernels/float/sums.h"

namespace octavo {
namespace {

// Vectors of kBytes bytes of f64 and as many f32; an extension that g++ and clang share.
template <int kBytes>
struct Wide {
  static constexpr int kLanes = kBytes / 8;
  typedef double F64 __attribute__((vector_size(kBytes)));
  typedef float F32 __attribute__((vector_size(kBytes / 2)));
};

// A register block of kRows rows and two vectors of sums.
template <int kBytes, int kRows>
void accumulate_vectors(const SumBlock& s, std::int64_t first) {
  using F64 = typename Wide<kBytes>::F64;
  using F32 = typename Wide<kBytes>::F32;
  constexpr int kLanes = Wide<kBytes>::kLanes;
  F64 acc[kRows][2];
  for (int p = 0; p < kRows; ++p) __builtin_memcpy(acc[p], s.acc + p * s.acc_stride + first, sizeof acc[p]);
  const float* b = s.b + first;
  for (std::int64_t k = 0; k < s.depth; ++k, b += s.b_stride) {
    F32 narrow[2];
    __builtin_memcpy(narrow, b, sizeof narrow);
    const F64 low = __builtin_convertvector(narrow[0], F64), high = __builtin_convertvector(narrow[1], F64);
    for (int p = 0; p < kRows; ++p) {
      const auto a = static_cast<double>(s.a[p][k * s.a_step]);
      acc[p][0] += a * low;
      acc[p][1] += a * high;
    }
  }
  for (int p = 0; p < kRows; ++p) __builtin_memcpy(s.acc + p * s.acc_stride + first, acc[p], sizeof acc[p]);
  static_assert(sizeof(F64) == kLanes * sizeof(double));
}

template <int kRows>
void accumulate_column(const SumBlock& s, std::int64_t column) {
  for (int p = 0; p < kRows; ++p) {
    double sum = s.acc[p * s.acc_stride + column];
    for (std::int64_t k = 0; k < s.depth; ++k)
      sum += static_cast<double>(s.a[p][k * s.a_step]) * static_cast<double>(s.b[k * s.b_stride + column]);
    s.acc[p * s.acc_stride + column] = sum;
  }
}

// In pieces of the depth, so that the lines of b that a block touches are still in L1 for the next block.
template <int kBytes, int kRows>
void accumulate_rows(const SumBlock& whole) {
  constexpr std::int64_t kDepth = 64;
  SumBlock s = whole;
  for (std::int64_t k = 0; k < whole.depth; k += kDepth) {
    s.depth = whole.depth - k < kDepth ? whole.depth - k : kDepth;
    std::int64_t first = 0;
    for (; first + kBytes / 4 <= s.width; first += kBytes / 4) accumulate_vectors<kBytes, kRows>(s, first);
    for (; first < s.width; ++first) accumulate_column<kRows>(s, first);
    for (int p = 0; p < kRows; ++p) s.a[p] += kDepth * s.a_step;
    s.b += kDepth * s.b_stride;
  }
}

template <int kBytes>
void accumulate(const SumBlock& block) {
  return block.rows == kSumRows ? accumulate_rows<kBytes, kSumRows>(block) : accumulate_rows<kBytes, 1>(block);
}

template <class A, class B>
void multiply_integers_as(const IntegerSumRow& r) {
  const A* a = reinterpret_cast<const A*>(r.a);
  for (std::int64_t j = 0; j < r.width; ++j) r.acc[j] = 0;
  for (std::int64_t k = 0; k < r.depth; ++k) {
    const std::int32_t left = static_cast<std::int32_t>(a[k]) - r.a_zero_point;
    const B* b = reinterpret_cast<const B*>(r.b) + k * r.b_stride;
    for (std::int64_t j = 0; j < r.width; ++j) {
      const std::int32_t product = left * (static_cast<std::int32_t>(b[j]) - r.b_zero_point[j]);
      r.acc[j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(r.acc[j]) + static_cast<std::uint32_t>(product));
    }
  }
}

void multiply_integers(const IntegerSumRow& row) {
  if (row.a_is_signed)
    (row.b_is_signed ? &multiply_integers_as<std::int8_t, std::int8_t>
                     : &multiply_integers_as<std::int8_t, std::uint8_t>)(row);
  else
    (row.b_is_signed ? &multiply_integers_as<std::uint8_t, std::int8_t>
                     : &multiply_integers_as<std::uint8_t, std::uint8_t>)(row);
}

void normalize(const NormalizeLine& line) {
  const float* x = line.x;
  float* y = line.y;
  if (line.step == 0) {
    const float factor = *line.factor, shift = *line.shift;
    for (std::int64_t i = 0; i < line.n; ++i) y[i] = x[i] * factor + shift;
    return;
  }
  for (std::int64_t i = 0; i < line.n; ++i) y[i] = x[i] * line.factor[i] + line.shift[i];
}

template <int kBytes, class S>
constexpr SumFunctions sum_functions() {
  return {.finish = &finish_sums<S>,
          .accumulate = &accumulate<kBytes>,
          .multiply_integers = &multiply_integers,
          .normalize = &normalize,
          .depthwise = &depthwise_pixels<S>,
          .chains = &chains<S>,
          .channel_chains = &channel_chains<S>,
          .chain_lanes = S::kLanes,
          .chain_rows = kChainRows<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_GENERIC_H_
