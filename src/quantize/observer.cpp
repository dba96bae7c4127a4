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
  if (calibration_ == Calibration::percentile) histogram_.add(values);
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
  // Bin edges may lie outside of what was seen.
  const TensorRange inner = histogram_.range(percentile / 100.0);
  return {std::max(inner.lowest, extremes_.lowest), std::min(inner.highest, extremes_.highest)};
}

}  // namespace octavo
