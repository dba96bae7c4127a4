// Histogram: how often values occur, in bounded memory. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_HISTOGRAM_H_
#define OCTAVO_QUANTIZE_HISTOGRAM_H_

#include <cstdint>
#include <span>
#include <vector>

namespace octavo {

// Bins of equal width whose limits grow by doubling. The counts do not depend on the order of the samples: every value
// falls into the bin of the final limits in which it would have fallen had these been known from the start.
class Histogram {
 public:
  static constexpr int kHalf = 2048;  // bins on each side of 0

  // Finite values, none larger in magnitude than `largest`.
  void add(std::span<const float> values, float largest);
  std::int64_t count() const { return count_; }
  std::int64_t zeros() const { return zeros_; }  // values that are exactly 0; they are also counted in bin 0
  // Bins -kHalf .. kHalf - 1. Bin b >= 0 holds [b, b + 1) widths, bin b < 0 holds (b, b + 1] of the negative numbers.
  std::int64_t in_bin(int bin) const { return bins_.empty() ? 0 : bins_[static_cast<std::size_t>(bin + kHalf)]; }
  // The lower end of a bin; of kHalf, the limit.
  double edge(int bin) const;

 private:
  void grow_to(int exponent);

  int exponent_ = -100;  // the bins cover [-2^exponent_, 2^exponent_]; smaller values are all in the two middle bins
  std::int64_t count_ = 0, zeros_ = 0;
  std::vector<std::int64_t> bins_;
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_HISTOGRAM_H_
