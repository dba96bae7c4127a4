// Searching ranges: every candidate is judged by the histogram alone. Part of quantize/.
#include "quantize/range_search.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/math.h"

namespace octavo {
namespace {

constexpr int kHalf = Histogram::kHalf;
// Candidates are shares of the extremes, from a quarter to all.
constexpr int kRangeSteps = 64, kNarrowest = 16;

TensorRange with_zero(TensorRange extremes) {
  return {std::min(extremes.lowest, 0.0f), std::max(extremes.highest, 0.0f)};
}
float share_of(int step) { return static_cast<float>(step) / kRangeSteps; }

// The bins that hold something, by their middle.
struct Bins {
  std::vector<double> values;
  std::vector<double> counts;
};

Bins occupied_bins(const Histogram& histogram) {
  Bins bins;
  for (int bin = -kHalf; bin < kHalf; ++bin) {
    const std::int64_t count = histogram.in_bin(bin) - (bin == 0 ? histogram.zeros() : 0);
    if (count <= 0) continue;
    bins.values.push_back((histogram.edge(bin) + histogram.edge(bin + 1)) / 2.0);
    bins.counts.push_back(static_cast<double>(count));
  }
  return bins;
}

double range_search_power_of(double x, int power) {
  double result = x * x;
  for (int i = 2; i < power; ++i) result *= x;
  return result;
}

double error_of(const Bins& bins, TensorRange range, int power) {
  const double half_step = (static_cast<double>(range.highest) - range.lowest) / 510.0;
  const double inside = range_search_power_of(half_step, power) / (power + 1);
  double sum = 0.0;
  for (std::size_t i = 0; i < bins.values.size(); ++i) {
    const double value = bins.values[i];
    const double beyond = std::max(range.lowest - value, value - range.highest);
    if (beyond > 0.0) sum += bins.counts[i] * range_search_power_of(beyond, power);
    else
      sum += bins.counts[i] * (std::fabs(value) < half_step ? range_search_power_of(std::fabs(value), power) : inside);
  }
  return sum;
}

// How much is lost by spreading what falls into each of 256 levels evenly over the bins that were occupied there.
double divergence_of(const Bins& bins, TensorRange range) {
  const double step = (static_cast<double>(range.highest) - range.lowest) / 255.0;
  std::vector<double> level_counts(256, 0.0), level_bins(256, 0.0);
  const auto level_of = [&](double value) {
    return static_cast<std::size_t>(std::clamp(std::nearbyint((value - range.lowest) / step), 0.0, 255.0));
  };
  double total = 0.0;
  std::vector<double> seen(bins.values.size());  // with what is clipped counted at the ends
  std::size_t first = bins.values.size(), last = 0;
  for (std::size_t i = 0; i < bins.values.size(); ++i) {
    if (bins.values[i] < range.lowest || bins.values[i] > range.highest) continue;
    first = std::min(first, i);
    last = i;
  }
  if (first > last) return HUGE_VAL;
  for (std::size_t i = 0; i < bins.values.size(); ++i) {
    seen[std::clamp(i, first, last)] += bins.counts[i];
    total += bins.counts[i];
  }
  double inside = 0.0;
  for (std::size_t i = first; i <= last; ++i) {
    level_counts[level_of(bins.values[i])] += bins.counts[i];
    level_bins[level_of(bins.values[i])] += 1.0;
    inside += bins.counts[i];
  }
  double divergence = 0.0;
  for (std::size_t i = first; i <= last; ++i) {
    const std::size_t level = level_of(bins.values[i]);
    const double p = seen[i] / total, q = level_counts[level] / level_bins[level] / inside;
    divergence += p * (math_log(p) - math_log(q));
  }
  return divergence;
}

}  // namespace

TensorRange percentile_range(const Histogram& histogram, TensorRange extremes, double share) {
  if (histogram.count() == 0) return extremes;
  const auto left_out =
      static_cast<std::int64_t>(std::floor((1.0 - share) / 2.0 * static_cast<double>(histogram.count())));
  int first = -kHalf;
  for (std::int64_t below = 0; below + histogram.in_bin(first) <= left_out; ++first) below += histogram.in_bin(first);
  int last = kHalf - 1;
  for (std::int64_t above = 0; above + histogram.in_bin(last) <= left_out; --last) above += histogram.in_bin(last);
  // Bin edges may lie outside of what was seen.
  return {std::max(static_cast<float>(histogram.edge(first)), extremes.lowest),
          std::min(static_cast<float>(histogram.edge(last + 1)), extremes.highest)};
}

TensorRange nearest_range(const Histogram& histogram, TensorRange extremes, int power) {
  const Bins bins = occupied_bins(histogram);
  const TensorRange whole = with_zero(extremes);
  TensorRange best = whole;
  double least = error_of(bins, whole, power);
  // One end after the other: clipping at one hardly changes what is best at the other but for the width of a step.
  for (const bool moves_highest : {true, false, true}) {
    if ((moves_highest ? whole.highest : whole.lowest) == 0.0f) continue;
    const TensorRange from = best;
    for (int step = kNarrowest; step <= kRangeSteps; ++step) {
      const TensorRange range = moves_highest ? TensorRange{from.lowest, whole.highest * share_of(step)}
                                              : TensorRange{whole.lowest * share_of(step), from.highest};
      const double error = error_of(bins, range, power);
      if (error < least) least = error, best = range;
    }
  }
  return best;
}

TensorRange entropy_range(const Histogram& histogram, TensorRange extremes) {
  const Bins bins = occupied_bins(histogram);
  const TensorRange whole = with_zero(extremes);
  TensorRange best = whole;
  double least = HUGE_VAL;
  for (int step = kNarrowest; step <= kRangeSteps; ++step) {
    const TensorRange range{whole.lowest * share_of(step), whole.highest * share_of(step)};
    const double divergence = range.lowest < range.highest ? divergence_of(bins, range) : HUGE_VAL;
    if (divergence <= least) least = divergence, best = range;
  }
  return best;
}

}  // namespace octavo
