// The loops of float/ in plain C++, which the compiler vectorizes for each instruction set. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_GENERIC_H_
#define OCTAVO_KERNELS_FLOAT_GENERIC_H_

#include "kernels/float/sums.h"

namespace octavo {
namespace {

// A register block of kRows x kWidth sums.
template <int kRows, int kWidth>
void accumulate_block(const SumBlock& s, std::int64_t first) {
  double acc[kRows][kWidth];
  for (int p = 0; p < kRows; ++p) {
    for (int j = 0; j < kWidth; ++j) acc[p][j] = s.acc[p * s.acc_stride + first + j];
  }
  const float* b = s.b + first;
  for (std::int64_t k = 0; k < s.depth; ++k, b += s.b_stride) {
    for (int p = 0; p < kRows; ++p) {
      const auto a = static_cast<double>(s.a[p][k * s.a_step]);
      for (int j = 0; j < kWidth; ++j) acc[p][j] += a * static_cast<double>(b[j]);
    }
  }
  for (int p = 0; p < kRows; ++p) {
    for (int j = 0; j < kWidth; ++j) s.acc[p * s.acc_stride + first + j] = acc[p][j];
  }
}

template <int kRows>
void accumulate_rows(const SumBlock& s) {
  std::int64_t first = 0;
  for (; first + 16 <= s.width; first += 16) accumulate_block<kRows, 16>(s, first);
  for (; first + 4 <= s.width; first += 4) accumulate_block<kRows, 4>(s, first);
  for (; first < s.width; ++first) accumulate_block<kRows, 1>(s, first);
}

void accumulate(const SumBlock& block) { return block.rows == kSumRows ? accumulate_rows<kSumRows>(block) : accumulate_rows<1>(block); }

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
  if (row.a_is_signed) (row.b_is_signed ? &multiply_integers_as<std::int8_t, std::int8_t> : &multiply_integers_as<std::int8_t, std::uint8_t>)(row);
  else (row.b_is_signed ? &multiply_integers_as<std::uint8_t, std::int8_t> : &multiply_integers_as<std::uint8_t, std::uint8_t>)(row);
}

void normalize(const NormalizeLine& line) {
  const float* x = line.x;
  float* y = line.y;
  if (line.step == 0) {
    const double mean = *line.mean, deviation = *line.deviation, scale = *line.scale, bias = *line.bias;
    for (std::int64_t i = 0; i < line.n; ++i) y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) / deviation * scale + bias);
    return;
  }
  for (std::int64_t i = 0; i < line.n; ++i) {
    y[i] = static_cast<float>((static_cast<double>(x[i]) - line.mean[i]) / line.deviation[i] * line.scale[i] + line.bias[i]);
  }
}

// Sums run along a row, in order; kRows rows at a time hide the latency of the additions.
template <int kRows>
void layer_norm_rows(const LayerNormRows& l, std::int64_t first) {
  const float* x = l.x + first * l.n;
  float* y = l.y + first * l.n;
  double mean[kRows] = {}, squares[kRows] = {}, deviation[kRows];
  for (std::int64_t i = 0; i < l.n; ++i) {
    for (int r = 0; r < kRows; ++r) mean[r] += static_cast<double>(x[r * l.n + i]);
  }
  for (int r = 0; r < kRows; ++r) mean[r] /= static_cast<double>(l.n);
  for (std::int64_t i = 0; i < l.n; ++i) {
    for (int r = 0; r < kRows; ++r) {
      const double centred = static_cast<double>(x[r * l.n + i]) - mean[r];
      squares[r] += centred * centred;
    }
  }
  for (int r = 0; r < kRows; ++r) deviation[r] = __builtin_sqrt(squares[r] / static_cast<double>(l.n) + l.epsilon);
  for (int r = 0; r < kRows; ++r) {
    for (std::int64_t i = 0; i < l.n; ++i) {
      const double scaled = (static_cast<double>(x[r * l.n + i]) - mean[r]) / deviation[r] * static_cast<double>(l.scale[i]);
      y[r * l.n + i] = static_cast<float>(l.bias != nullptr ? scaled + static_cast<double>(l.bias[i]) : scaled);
    }
  }
}

void layer_norm(const LayerNormRows& rows) {
  std::int64_t first = 0;
  for (; first + 8 <= rows.rows; first += 8) layer_norm_rows<8>(rows, first);
  for (; first < rows.rows; ++first) layer_norm_rows<1>(rows, first);
}

double larger(double a, double b) { return a != a || a > b ? a : b; }
double smaller(double a, double b) { return a != a || a < b ? a : b; }

template <class Fold>
void fold_rows(const ReduceRows& r, Fold fold) {
  for (std::int64_t k = 0; k < r.count; ++k) {
    const float* x = r.x + k * r.stride;
    for (std::int64_t j = 0; j < r.width; ++j) r.acc[j] = fold(r.acc[j], static_cast<double>(x[j]));
  }
}

void reduce(const ReduceRows& rows) {
  switch (rows.step) {
    case ReduceStep::sum: return fold_rows(rows, [](double acc, double x) { return acc + x; });
    case ReduceStep::sum_square: return fold_rows(rows, [](double acc, double x) { return acc + x * x; });
    case ReduceStep::l1: return fold_rows(rows, [](double acc, double x) { return acc + __builtin_fabs(x); });
    case ReduceStep::max: return fold_rows(rows, [](double acc, double x) { return larger(x, acc); });
    case ReduceStep::min: return fold_rows(rows, [](double acc, double x) { return smaller(x, acc); });
  }
}

constexpr SumFunctions sum_functions() {
  return {.accumulate = &accumulate, .multiply_integers = &multiply_integers, .normalize = &normalize, .layer_norm = &layer_norm, .reduce = &reduce};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_GENERIC_H_
