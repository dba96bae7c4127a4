// Taps of a resize: which elements of an axis make up each output position, and their weights. Part of ops/.
#ifndef OCTAVO_OPS_RESIZE_TAPS_H_
#define OCTAVO_OPS_RESIZE_TAPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ops/resize/resize.h"

namespace octavo {

struct ResizeTap {
  std::int64_t index = 0;  // in [0, size of the axis)
  double weight = 1.0;
};

// Linear interpolation between two neighbours on each axis, computed in f32.
bool is_plain_linear(const ResizeAttrs& resize);

// All output positions of one axis.
class AxisTaps {
 public:
  // `size` is that of x on the axis; attributes are those that infer accepted.
  static AxisTaps of(const ResizeAttrs& resize, std::int64_t size, int axis);

  std::span<const ResizeTap> at(std::int64_t position) const {
    const auto i = static_cast<std::size_t>(position);
    return std::span(taps_).subspan(first_[i], first_[i + 1] - first_[i]);
  }
  // Whether the position gets the extrapolation value.
  bool is_outside(std::int64_t position) const { return outside_[static_cast<std::size_t>(position)]; }

 private:
  std::vector<ResizeTap> taps_;
  std::vector<std::size_t> first_{0};  // one more than there are positions
  std::vector<bool> outside_;
};

}  // namespace octavo

#endif  // OCTAVO_OPS_RESIZE_TAPS_H_
