// Functions of s16 values, interpolated. Part of base/.
#include "base/interpolated.h"

#include <algorithm>
#include <bit>

#include "base/fixed_point.h"
#include "base/math.h"

namespace octavo {
namespace {

using SigmoidTable = std::array<std::uint16_t, 256>;

// Entry i: the sigmoid of i / 24 in units of 2^-16, to the nearest, but for these, of which the source has one more.
SigmoidTable make_sigmoid_table() {
  constexpr int kOneMore[] = {4,  8,  12, 14, 15, 16, 17, 19, 20,  21,  22,  25,  27,  28, 29,
                              30, 31, 33, 34, 35, 37, 39, 40, 41,  43,  44,  45,  46,  49, 50,
                              54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255};
  SigmoidTable table{};
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<std::uint16_t>(std::floor(65536.0 / (1.0 + math_exp(static_cast<double>(i) / -24.0)) + 0.5));
  for (const int i : kOneMore) ++table[static_cast<std::size_t>(i)];
  return table;
}

// The sigmoid of size / (24 * 2^fraction_bits) in units of 2^-(16 + fraction_bits); `most` where the table ends.
std::uint32_t interpolated_sigmoid(std::uint32_t size, int fraction_bits, std::uint32_t most) {
  static const SigmoidTable table = make_sigmoid_table();
  const std::uint32_t i = size >> fraction_bits;
  if (i + 1 >= table.size()) return most;
  const std::uint32_t rest = size & ((1u << fraction_bits) - 1);
  const std::uint32_t slope = static_cast<std::uint32_t>(table[i + 1]) - table[i];
  return (static_cast<std::uint32_t>(table[i]) << fraction_bits) + rest * slope;
}

std::int32_t in_table_units(const InterpolatedSigmoid& form, std::int16_t x) {
  const std::int32_t half = form.shift > 0 ? 1 << (form.shift - 1) : 0;
  return (x * form.multiplier + half) >> form.shift;
}

std::int16_t low_half(std::int32_t x) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(x)); }

// 1 / (1 + x) of x from 0 to 1, in units of 2^-15.
const InterpolatedTable& one_over_one_plus_table() {
  constexpr double kRange = 65535.0;
  static const InterpolatedTable table =
      InterpolatedTable::of<double>(0.0, 1.0 / kRange * kRange, 2.0 / kRange, [](double x) { return 1.0 / (1.0 + x); });
  return table;
}

}  // namespace

bool is_near_power_of_two(float scale, int& exponent) {
  const float log2 = static_cast<float>(math_log(static_cast<double>(scale)) * 1.44269504088896340736);
  exponent = static_cast<int>(std::round(log2));
  return std::fabs(log2 - static_cast<float>(exponent)) < 1e-3f;
}

// Of a power of two up to most_shift more than 2^-12 the shift is exact; other scales become as many bits as fit.
InterpolatedSigmoid InterpolatedSigmoid::of(float x_scale, int most_shift) {
  int exponent = 0;
  if (is_near_power_of_two(x_scale, exponent) && exponent + 12 >= 0 && exponent + 12 <= most_shift)
    return {3 << (exponent + 12), 0};
  double multiplier = static_cast<double>(x_scale) * 4096.0 * 3.0;
  int shift = 0;
  for (; multiplier <= 32767.0 / 2.0 && shift <= 30; ++shift) multiplier *= 2.0;
  return {static_cast<std::int32_t>(std::min(multiplier, 32767.0)), shift};
}
InterpolatedSigmoid InterpolatedSigmoid::of_sigmoid(float x_scale) { return of(x_scale, 0); }
InterpolatedSigmoid InterpolatedSigmoid::of_tanh(float x_scale) { return of(x_scale, 1); }

std::int16_t InterpolatedSigmoid::sigmoid(std::int16_t x) const {
  const std::int32_t at = in_table_units(*this, x);
  const std::uint32_t result = interpolated_sigmoid(static_cast<std::uint32_t>(std::abs(at)), 9, 0x7fffu << 10);
  constexpr std::uint32_t kHalf = 1u << 9;
  return low_half(static_cast<std::int32_t>((at >= 0 ? result + kHalf : (1u << 25) - result + kHalf - 1) >> 10));
}

// 2 sigmoid(2 x) - 1.
std::int16_t InterpolatedSigmoid::tanh(std::int16_t x) const {
  const std::int32_t at = in_table_units(*this, x);
  const auto result =
      static_cast<std::int32_t>(interpolated_sigmoid(static_cast<std::uint32_t>(std::abs(at)), 8, 0xffffu << 8));
  constexpr std::int32_t kOne = 1 << 23, kHalf = 1 << 7;
  return low_half((at >= 0 ? result - kOne + kHalf : kOne - result + kHalf - 1) >> 8);
}

std::vector<std::int16_t> interpolated_exponentials(float x_scale, float beta) {
  constexpr double kRange = 65535.0;
  const InterpolatedTable table =
      InterpolatedTable::of<double>(10.0 / kRange * -kRange, 0.0, 2.0 / kRange, [](double x) { return math_exp(x); });
  const FixedMultiplier scale = FixedMultiplier::of(static_cast<double>(x_scale * beta) / (10.0 / kRange));
  std::vector<std::int16_t> exponentials(1 << 16);
  for (std::size_t d = 0; d < exponentials.size(); ++d) {
    const std::int64_t at = std::int64_t{scale.apply(Profile::tflite_double, -static_cast<std::int32_t>(d))} + 32767;
    exponentials[d] = table.at(static_cast<std::int16_t>(std::clamp<std::int64_t>(at, -32768, 32767)));
  }
  return exponentials;
}

InterpolatedReciprocal InterpolatedReciprocal::of(std::int32_t sum) {
  const auto bits = static_cast<std::uint32_t>(std::max(sum, 2));
  const int headroom = std::countl_zero(bits);
  const std::int64_t shifted = ((std::int64_t{bits} << (headroom - 1)) + (1 << 13)) >> 14;
  const std::int64_t above_one = shifted - ((1 << 15) + (1 << 16));
  const auto at = static_cast<std::int16_t>(std::clamp<std::int64_t>(above_one, -32768, 32767));
  return {one_over_one_plus_table().at(at), 31 - headroom};
}

std::int16_t InterpolatedReciprocal::share(std::int16_t exponential) const {
  const std::int64_t product = std::int64_t{exponential} * scale + (std::int64_t{1} << (shift - 1));
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(product >> shift, 0, 32767));
}

}  // namespace octavo
