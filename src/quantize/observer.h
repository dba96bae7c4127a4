// Observers: what calibration remembers of a tensor over all samples. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_OBSERVER_H_
#define OCTAVO_QUANTIZE_OBSERVER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "quantize/quantize.h"

namespace octavo {

// A histogram of fixed size whose limits grow by doubling. The counts do not depend on the order of the samples: every value falls
// into the bin of the final limits in which it would have fallen had these been known from the start.
class Histogram {
 public:
  void add(std::span<const float> values);
  void merge(const Histogram& other);
  // The narrowest range that leaves out at most (1 - share) / 2 of the values at each end; bin edges, so exact to 1/4096 of the limit.
  TensorRange range(double share) const;
  // The range inside `extremes` with the least sum of squared errors when its values become u8: what lies outside is clipped, what lies inside is
  // off by a uniformly distributed part of a step. Exact zeros are never off.
  TensorRange nearest_range(TensorRange extremes) const;
  std::int64_t count() const { return count_; }

 private:
  static constexpr int kHalf = 4096;  // bins on each side of 0
  void grow_to(int exponent);
  double value_of(int bin) const;  // its middle
  double squared_error(TensorRange range) const;

  int exponent_ = -149;  // the bins cover [-2^exponent_, 2^exponent_)
  std::int64_t count_ = 0, zeros_ = 0;
  std::vector<std::int64_t> bins_;
};

// Smallest and largest value, and the histogram where it is needed.
class Observer {
 public:
  explicit Observer(Calibration calibration) : calibration_(calibration) {}
  // False where a value is not finite; nothing of these values is then remembered.
  bool add(std::span<const float> values);
  void merge(const Observer& other);
  // {0, 0} where nothing was seen. `percentile` is in percent.
  TensorRange range(double percentile) const;

 private:
  Calibration calibration_;
  bool has_values_ = false;
  TensorRange extremes_;
  Histogram histogram_;
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_OBSERVER_H_
