// The axes of a reduction as one. Part of lower/.
#include "lower/reduced_axes.h"

#include <algorithm>

namespace octavo {

std::optional<ReducedAxes> reduced_axes(const Shape& shape, const ReduceAttrs& reduce) {
  ReducedAxes found;
  enum class Part : char { before, inside, after } part = Part::before;
  const auto is_reduced = [&](int axis) {
    return std::any_of(reduce.axes.begin(), reduce.axes.end(), [&](std::int64_t one) { return one == axis || one == axis - shape.rank(); });
  };
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    if (is_reduced(axis)) {
      if (part == Part::after) return std::nullopt;
      part = Part::inside;
      found.terms *= shape[axis];
    } else if (part == Part::before) {
      found.outer *= shape[axis];
    } else {
      part = Part::after;
      found.inner *= shape[axis];
    }
  }
  return found;
}

}  // namespace octavo
