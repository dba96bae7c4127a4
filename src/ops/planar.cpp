// Convolutions over three axes. Part of ops/.
#include "ops/planar.h"

#include "ops/traits.h"

namespace octavo {

bool is_over_first_axis(const Window& w) {
  const auto is_plain = [&](std::size_t axis) {
    return is_one(w.kernel[axis]) && w.strides[axis] == 1 && is_zero(w.pad_begin[axis]) && is_zero(w.pad_end[axis]);
  };
  return w.rank() == 3 && is_plain(1) && is_plain(2);
}

bool is_over_planes(const Window& w) {
  return w.rank() == 3 && is_one(w.kernel[0]) && is_zero(w.pad_begin[0]) && is_zero(w.pad_end[0]);
}

bool is_planar(const Window& window, std::int64_t groups) {
  constexpr std::int64_t kMostPlanes = 32;
  if (window.rank() != 3) return false;
  const bool is_joined = groups == 1 && window.kernel[0].is_number() && window.kernel[0].fixed() <= kMostPlanes;
  return is_over_first_axis(window) || is_over_planes(window) || is_joined;
}

NodeRole role_of_planar_convolution(const Window& window, std::int64_t groups, InputFacts inputs) {
  if (window.rank() == 3 && !is_planar(window, groups))
    return stays_floating("convolution over 3 axes in " + std::to_string(groups) + " groups");
  return role_of_convolution(window, inputs);
}

}  // namespace octavo
