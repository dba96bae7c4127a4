// From a histogram to the range that 8 bits are spent on. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_RANGE_SEARCH_H_
#define OCTAVO_QUANTIZE_RANGE_SEARCH_H_

#include "quantize/histogram.h"
#include "quantize/quantize.h"

namespace octavo {

// `extremes`: the smallest and largest value in the histogram. Every result lies inside them once they are widened to
// contain 0.

// The narrowest range that leaves out at most (1 - share) / 2 of the values at each end; bin edges, so exact to 1/2048
// of the limit.
TensorRange percentile_range(const Histogram& histogram, TensorRange extremes, double share);

// The range with the least sum of |error|^power when its values become u8: what lies outside is clipped, what lies
// inside is off by a uniformly distributed part of half a step, or by itself where it is smaller than that. power 2 is
// the mean of squares; a higher one is kinder to outliers.
TensorRange nearest_range(const Histogram& histogram, TensorRange extremes, int power);

// The range in which the distribution of the 8-bit values differs least from what was seen, by Kullback and Leibler;
// both ends are moved together.
TensorRange entropy_range(const Histogram& histogram, TensorRange extremes);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_RANGE_SEARCH_H_
