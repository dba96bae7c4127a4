// Counting values. Part of quantize/.
#include "quantize/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace octavo {
namespace {

constexpr std::size_t kBlock = 256;  // values whose bins are found at once, by vector instructions
constexpr int kBins = 2 * Histogram::kHalf;
using Counts = std::array<std::uint32_t, kBins>;

// Bins are symmetric around 0, so that halving their number is a shift of the magnitude: truncating twice is truncating
// once.
void find_bins(std::span<const float, kBlock> values, float bins_per_unit, std::array<std::int32_t, kBlock>& bins) {
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto magnitude = static_cast<std::int32_t>(values[i] * bins_per_unit);  // with its sign
    bins[i] =
        std::clamp(magnitude - (values[i] < 0.0f ? 1 : 0), -Histogram::kHalf, Histogram::kHalf - 1) + Histogram::kHalf;
  }
}

}  // namespace

void Histogram::add(std::span<const float> values, float largest) {
  if (values.empty()) return;
  if (bins_.empty()) bins_.resize(kBins);
  int exponent = exponent_;
  if (largest > 0.0f) std::frexp(largest, &exponent);  // largest < 2^exponent
  grow_to(std::max(exponent, exponent_));
  const float bins_per_unit = std::ldexp(1.0f, 11 - exponent_);  // a power of two: the products are exact
  // Two tables taken in turns: equal values that follow one another do not wait for each other's counter.
  Counts even{}, odd{};
  std::array<std::int32_t, kBlock> bins{};
  std::array<float, kBlock> rest{};
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, values.size() - begin);
    if (count < kBlock) std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), count, rest.begin());
    find_bins(std::span<const float, kBlock>(count < kBlock ? rest.data() : values.data() + begin, kBlock),
              bins_per_unit, bins);
    for (std::size_t i = 0; i + 1 < count; i += 2)
      ++even[static_cast<std::size_t>(bins[i])], ++odd[static_cast<std::size_t>(bins[i + 1])];
    if (count % 2 != 0) ++even[static_cast<std::size_t>(bins[count - 1])];
  }
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += static_cast<std::int64_t>(even[i]) + odd[i];
  std::int64_t zeros = 0;
  for (const float value : values) zeros += value == 0.0f ? 1 : 0;
  zeros_ += zeros;
  count_ += static_cast<std::int64_t>(values.size());
}

// Doubling the limits joins bins two by two towards the middle.
void Histogram::grow_to(int exponent) {
  const int steps = std::min(exponent - exponent_, 13);  // after 12 halvings everything is in the two middle bins
  exponent_ = exponent;
  if (steps <= 0) return;
  std::vector<std::int64_t> joined(bins_.size());
  for (int i = 0; i < kBins; ++i)
    joined[static_cast<std::size_t>(((i - kHalf) >> steps) + kHalf)] += bins_[static_cast<std::size_t>(i)];
  bins_ = std::move(joined);
}

double Histogram::edge(int bin) const { return std::ldexp(static_cast<double>(bin), exponent_ - 11); }

}  // namespace octavo
