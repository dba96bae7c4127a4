// SeparableCopy: every copy whose source index is a sum of one term per axis: slices, pads, nearest resize, broadcasts,
// gathers by constant indices, reshapes, and transpositions whose last axis stays. Part of kernels/.
#ifndef OCTAVO_KERNELS_MOVE_SEPARABLE_H_
#define OCTAVO_KERNELS_MOVE_SEPARABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/call.h"

namespace octavo {

// An axis of the result: where in x each of its indices lies, in elements, or kFilled.
inline constexpr std::int64_t kFilled = -1;
struct CopyAxis {
  std::vector<std::int64_t> source;
};

class SeparableCopy {
 public:
  // One entry per axis of the result, outermost first; x's last axis has stride 1 in these offsets.
  SeparableCopy(std::vector<CopyAxis> axes, std::size_t element_bytes);

  std::int64_t items() const { return chunks_.items(); }
  // `fill` is one element; only read where an index is kFilled.
  void run(const std::byte* x, const std::byte* fill, std::byte* y, ItemRange range) const;

 private:
  // A row of the result is a copy of row_bytes_ from x; or, where the last axis is not contiguous, of single elements.
  void copy_row(const std::byte* x, std::byte* y) const;
  void pick_row(const std::byte* x, const std::byte* fill, std::byte* y) const;
  void fill_row(const std::byte* fill, std::byte* y) const;

  std::vector<CopyAxis> outer_;
  std::vector<std::int64_t> last_;  // offsets within a row; empty where the row is contiguous in x
  std::int64_t row_elements_ = 1;
  std::size_t element_bytes_ = 1;
  Chunks chunks_;  // of rows
};

// Offsets of the indices of an axis: index[i] * stride, or kFilled where index[i] is negative.
CopyAxis axis_of(const std::vector<std::int64_t>& index, std::int64_t stride);
// start, start + step, ...
CopyAxis plain_axis(std::int64_t size, std::int64_t stride, std::int64_t start = 0, std::int64_t step = 1);

// n bytes; for the short rows of channels-last images a call of memcpy would cost more than the copy.
inline void copy_bytes(const std::byte* from, std::byte* to, std::size_t n) {
  if (n < 16 || n > 512) {
    __builtin_memcpy(to, from, n);
    return;
  }
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) __builtin_memcpy(to + i, from + i, 16);
  if (i < n) __builtin_memcpy(to + n - 16, from + n - 16, 16);
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_MOVE_SEPARABLE_H_
