// The axes of a reduction as one. Part of lower/.
#include "lower/reduced_axes.h"

#include <algorithm>

namespace octavo {
namespace {

bool is_among(const std::vector<std::int64_t>& axes, int axis, int rank) {
  return std::any_of(axes.begin(), axes.end(), [&](std::int64_t one) { return one == axis || one == axis - rank; });
}

}  // namespace

std::optional<ReducedAxes> reduced_axes(const OpenShape& shape, const ReduceAttrs& reduce) {
  ReducedAxes found;
  enum class Part : char { before, inside, after } part = Part::before;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (is_one(shape[axis])) continue;
    if (is_among(reduce.axes, axis, shape.rank())) {
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

ReducedLast reduced_last(const OpenShape& shape, const ReduceAttrs& reduce) {
  ReducedLast found;
  for (const bool is_reduced : {false, true}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (is_among(reduce.axes, axis, shape.rank()) != is_reduced) continue;
      found.perm.push_back(axis);
      (is_reduced ? found.axes.terms : found.axes.outer) *= shape[axis];
    }
  }
  return found;
}

}  // namespace octavo
