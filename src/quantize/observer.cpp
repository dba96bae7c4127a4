// Ranges of tensors over samples. Part of quantize/.
#include "quantize/observer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "quantize/range_search.h"

namespace octavo {
namespace {

TensorRange join(TensorRange a, TensorRange b) {
  return {std::min(a.lowest, b.lowest), std::max(a.highest, b.highest)};
}

}  // namespace

std::optional<TensorRange> finite_range(std::span<const float> values) {
  if (values.empty()) return std::nullopt;
  // Independent lanes, which become vector registers. A value that is not finite makes its product with 0 a NaN, and
  // that stays.
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lowest, highest, zero{};
  lowest.fill(values[0]);
  highest.fill(values[0]);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      lowest[lane] = value < lowest[lane] ? value : lowest[lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      zero[lane] += value * 0.0f;
    }
  }
  for (; i < values.size(); ++i) {
    lowest[0] = std::min(lowest[0], values[i]);
    highest[0] = std::max(highest[0], values[i]);
    zero[0] += values[i] * 0.0f;
  }
  for (const float lane : zero) {
    if (lane != 0.0f) return std::nullopt;
  }
  return TensorRange{*std::min_element(lowest.begin(), lowest.end()),
                     *std::max_element(highest.begin(), highest.end())};
}

std::optional<TensorRange> Observer::add(std::span<const float> values) {
  const auto seen = finite_range(values);
  if (!seen) return std::nullopt;
  extremes_ = has_values_ ? join(extremes_, *seen) : *seen;
  has_values_ = true;
  if (needs_histogram(calibration_)) histogram_.add(values, std::max(-seen->lowest, seen->highest));
  return seen;
}

void Observer::add_to_average(TensorRange of_sample) {
  constexpr std::int64_t kMemory = 100;
  average_samples_ = std::min(average_samples_ + 1, kMemory);
  const float share = 1.0f / static_cast<float>(average_samples_);
  average_.lowest += share * (of_sample.lowest - average_.lowest);
  average_.highest += share * (of_sample.highest - average_.highest);
}

TensorRange Observer::range(double percentile) const {
  if (!has_values_) return {};
  switch (calibration_) {
    case CalibrationMethod::minmax: return extremes_;
    case CalibrationMethod::average: return average_;
    case CalibrationMethod::percentile: return percentile_range(histogram_, extremes_, percentile / 100.0);
    case CalibrationMethod::mse: return nearest_range(histogram_, extremes_, 2);
    case CalibrationMethod::entropy: return entropy_range(histogram_, extremes_);
    case CalibrationMethod::automatic: return nearest_range(histogram_, extremes_, 3);
  }
  return extremes_;
}

}  // namespace octavo
