// Functions of s16 values as TFLite's kernels compute them: from a few entries, between which they interpolate; belongs
// to the rule book of requantize.h. Part of base/.
//
// Sources: LUTPopulateInt16, LUTLookup and sigmoid_table_uint16 of kernels/internal/common.h, Logistic and Tanh of
// kernels/internal/reference/integer_ops/, SoftmaxInt16 of kernels/internal/reference/softmax.h. Measured against
// LiteRT 2.3, docs/numerics.md.
#ifndef OCTAVO_BASE_INTERPOLATED_H_
#define OCTAVO_BASE_INTERPOLATED_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace octavo {

// A function at every 128th of the s16 values; an entry is moved by half of what the line to the next one errs by in
// its middle.
struct InterpolatedTable {
  static constexpr int kSteps = 512;
  std::array<std::int16_t, kSteps + 1> entries{};

  // f of Real (float or double) numbers from `first`, which the lowest s16 value stands for, to `last`, the highest;
  // results in units of `y_scale`, all of it computed in Real.
  template <class Real, class F>
  static InterpolatedTable of(Real first, Real last, Real y_scale, const F& f) {
    constexpr Real kLowest = std::numeric_limits<std::int16_t>::min(),
                   kHighest = std::numeric_limits<std::int16_t>::max();
    const Real step = (last - first) / Real{kSteps}, half_step = step / Real{2};
    const Real inverse = Real{65536} / (y_scale * kHighest - y_scale * kLowest);
    InterpolatedTable table;
    for (int i = 0; i < kSteps; ++i) {
      const Real begin = first + static_cast<Real>(i) * step, end = first + static_cast<Real>(i + 1) * step;
      const Real value = std::round(f(begin) * inverse);
      const Real on_line = std::round((f(end) * inverse + value) / Real{2});
      const Real error = on_line - std::round(f(begin + half_step) * inverse);
      table.entries[static_cast<std::size_t>(i)] = saturated(value - std::round(error / Real{2}));
    }
    table.entries[kSteps] = saturated(std::round(f(last) * inverse));
    return table;
  }

  std::int16_t at(std::int16_t x) const {
    const auto i = static_cast<std::size_t>((x >> 7) + kSteps / 2);
    const std::int32_t begin = entries[i], slope = static_cast<std::int16_t>(entries[i + 1] - begin);
    return static_cast<std::int16_t>(begin + ((slope * (x & 0x7f) + 64) >> 7));
  }

 private:
  // 0 for NaN, as x86 converts it.
  template <class Real>
  static std::int16_t saturated(Real y) {
    constexpr Real kLowest = std::numeric_limits<std::int16_t>::min(),
                   kHighest = std::numeric_limits<std::int16_t>::max();
    if (std::isnan(y)) return 0;
    return static_cast<std::int16_t>(y < kLowest ? kLowest : (y > kHighest ? kHighest : y));
  }
};

// Sigmoid and tanh in units of 2^-15, from one table of the sigmoid.
struct InterpolatedSigmoid {
  std::int32_t multiplier = 3;
  int shift = 0;

  static InterpolatedSigmoid of_sigmoid(float x_scale);
  static InterpolatedSigmoid of_tanh(float x_scale);

  std::int16_t sigmoid(std::int16_t x) const;
  std::int16_t tanh(std::int16_t x) const;

 private:
  static InterpolatedSigmoid of(float x_scale, int most_shift);
};

// Whether LiteRT takes the scale for a power of two, and which.
bool is_near_power_of_two(float scale, int& exponent);

// Softmax of s16 values. Entry d: exp(-d * x_scale * beta) in units of 2^-15, of an element d below the largest of its
// line.
std::vector<std::int16_t> interpolated_exponentials(float x_scale, float beta);
// 1 / the sum of a line's exponentials, and an element's share in units of 2^-15.
struct InterpolatedReciprocal {
  std::int32_t scale = 0;
  int shift = 1;

  static InterpolatedReciprocal of(std::int32_t sum);
  std::int16_t share(std::int16_t exponential) const;
};

}  // namespace octavo

#endif  // OCTAVO_BASE_INTERPOLATED_H_
