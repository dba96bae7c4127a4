// Observers: what calibration remembers of a tensor over all samples. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_OBSERVER_H_
#define OCTAVO_QUANTIZE_OBSERVER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quantize/histogram.h"
#include "quantize/quantize.h"

namespace octavo {

// Smallest and largest value; nothing where there are no values or one is not finite.
std::optional<TensorRange> finite_range(std::span<const float> values);

// Smallest and largest value, the mean of those of the samples, and the histogram where it is needed.
class Observer {
 public:
  explicit Observer(CalibrationMethod calibration) : calibration_(calibration) {}
  // The values of one sample, in any order of samples; returns their range. Where one is not finite nothing of these
  // values is remembered.
  std::optional<TensorRange> add(std::span<const float> values);
  // What add() returned, in the order of the samples: the mean of up to 100, then a moving average that forgets the
  // older ones.
  void add_to_average(TensorRange of_sample);
  // {0, 0} where nothing was seen. `percentile` is in percent.
  TensorRange range(double percentile) const;

 private:
  CalibrationMethod calibration_;
  bool has_values_ = false;
  TensorRange extremes_, average_;
  std::int64_t average_samples_ = 0;
  Histogram histogram_;
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_OBSERVER_H_
