// Ranges of tensors over samples. Part of quantize/.
#include "quantize/observer.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

float largest_magnitude(std::span<const float> values) {
  float largest = 0.0f;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

}  // namespace

void Histogram::add(std::span<const float> values) {
  if (values.empty()) return;
  if (bins_.empty()) bins_.resize(2 * kHalf);
  int exponent = -149;
  if (const float largest = largest_magnitude(values); largest > 0.0f) std::frexp(largest, &exponent);  // largest < 2^exponent
  grow_to(std::max(exponent, exponent_));
  const double bins_per_unit = std::ldexp(1.0, 12 - exponent_);  // a power of two: the product below is exact
  for (const float value : values) {
    const auto bin = static_cast<int>(std::floor(static_cast<double>(value) * bins_per_unit)) + kHalf;
    ++bins_[static_cast<std::size_t>(std::clamp(bin, 0, 2 * kHalf - 1))];
    zeros_ += value == 0.0f ? 1 : 0;
  }
  count_ += static_cast<std::int64_t>(values.size());
}

// Doubling the limits joins bins two by two towards the middle: floor(v / 2w) is floor(floor(v / w) / 2).
void Histogram::grow_to(int exponent) {
  if (bins_.empty() || exponent <= exponent_) {
    exponent_ = std::max(exponent, exponent_);
    return;
  }
  const int steps = std::min(exponent - exponent_, 14);  // after 13 halvings everything is in the two middle bins
  std::vector<std::int64_t> joined(bins_.size());
  for (int i = 0; i < 2 * kHalf; ++i) {
    const int bin = (i - kHalf) >> steps;
    joined[static_cast<std::size_t>(bin + kHalf)] += bins_[static_cast<std::size_t>(i)];
  }
  bins_ = std::move(joined);
  exponent_ = exponent;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  if (bins_.empty()) bins_.resize(2 * kHalf);
  Histogram widened = other;
  widened.grow_to(exponent_);
  grow_to(widened.exponent_);
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += widened.bins_[i];
  count_ += other.count_;
  zeros_ += other.zeros_;
}

TensorRange Histogram::range(double share) const {
  if (count_ == 0) return {};
  const auto left_out = static_cast<std::int64_t>(std::floor((1.0 - share) / 2.0 * static_cast<double>(count_)));
  int first = 0;
  for (std::int64_t below = 0; below + bins_[static_cast<std::size_t>(first)] <= left_out; ++first) below += bins_[static_cast<std::size_t>(first)];
  int last = 2 * kHalf - 1;
  for (std::int64_t above = 0; above + bins_[static_cast<std::size_t>(last)] <= left_out; --last) above += bins_[static_cast<std::size_t>(last)];
  const auto edge = [&](int bin) { return static_cast<float>(std::ldexp(static_cast<double>(bin - kHalf), exponent_ - 12)); };
  return {edge(first), edge(last + 1)};
}

double Histogram::value_of(int bin) const { return std::ldexp(static_cast<double>(bin - kHalf) + 0.5, exponent_ - 12); }

double Histogram::squared_error(TensorRange range) const {
  const double step = (static_cast<double>(range.highest) - range.lowest) / 255.0;
  double clipped = 0.0;
  std::int64_t inside = -zeros_;
  for (int bin = 0; bin < 2 * kHalf; ++bin) {
    const std::int64_t count = bins_[static_cast<std::size_t>(bin)];
    const double value = value_of(bin);
    const double beyond = value < range.lowest ? range.lowest - value : value - range.highest;
    if (beyond > 0.0) clipped += static_cast<double>(count) * beyond * beyond;
    else inside += count;
  }
  return clipped + static_cast<double>(std::max<std::int64_t>(inside, 0)) * step * step / 12.0;
}

TensorRange Histogram::nearest_range(TensorRange extremes) const {
  constexpr int kSteps = 64, kNarrowest = 16;  // from a quarter of the extremes to all of them
  const TensorRange whole{std::min(extremes.lowest, 0.0f), std::max(extremes.highest, 0.0f)};
  TensorRange best = whole;
  double least = squared_error(whole);
  // One end after the other: clipping at one hardly changes what is best at the other but for the width of a step.
  for (const bool moves_highest : {true, false, true}) {
    const TensorRange from = best;
    for (int i = kNarrowest; i <= kSteps; ++i) {
      const float share = static_cast<float>(i) / kSteps;
      const TensorRange range = moves_highest ? TensorRange{from.lowest, whole.highest * share} : TensorRange{whole.lowest * share, from.highest};
      const double error = squared_error(range);
      if (error < least) least = error, best = range;
    }
  }
  return best;
}

bool Observer::add(std::span<const float> values) {
  if (values.empty()) return true;
  TensorRange seen{values[0], values[0]};
  bool is_finite = true;
  for (const float value : values) {
    is_finite &= std::isfinite(value);
    seen.lowest = std::min(seen.lowest, value);
    seen.highest = std::max(seen.highest, value);
  }
  if (!is_finite) return false;
  if (!has_values_) extremes_ = seen;
  has_values_ = true;
  extremes_ = {std::min(extremes_.lowest, seen.lowest), std::max(extremes_.highest, seen.highest)};
  if (calibration_ != Calibration::minmax) histogram_.add(values);
  return true;
}

void Observer::merge(const Observer& other) {
  if (!other.has_values_) return;
  if (!has_values_) extremes_ = other.extremes_;
  has_values_ = true;
  extremes_ = {std::min(extremes_.lowest, other.extremes_.lowest), std::max(extremes_.highest, other.extremes_.highest)};
  histogram_.merge(other.histogram_);
}

TensorRange Observer::range(double percentile) const {
  if (!has_values_ || calibration_ == Calibration::minmax) return extremes_;
  if (calibration_ == Calibration::mse) return histogram_.nearest_range(extremes_);
  // Bin edges may lie outside of what was seen.
  const TensorRange inner = histogram_.range(percentile / 100.0);
  return {std::max(inner.lowest, extremes_.lowest), std::min(inner.highest, extremes_.highest)};
}

}  // namespace octavo
