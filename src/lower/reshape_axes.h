// How a reshape looks when its input is stored with its axes in another order. Part of lower/.
#ifndef OCTAVO_LOWER_RESHAPE_AXES_H_
#define OCTAVO_LOWER_RESHAPE_AXES_H_

#include <optional>

#include "base/shape.h"
#include "lower/tensor_edit.h"

namespace octavo {

// y = reshape(x): store x with `in_axes`, reshape that to `stored_shape`; then y = transpose(result, out_axes).
struct ReshapePlan {
  Axes in_axes;
  OpenShape stored_shape;
  Axes out_axes;
};

// A reshape splits axes and merges neighbours. A split axis is split where it lies; axes that are merged must lie one
// after the other in the file's order, so only where the stored order `axes` has them apart does in_axes differ from
// it. Nothing for tensors without elements.
std::optional<ReshapePlan> plan_reshape(const OpenShape& from, const OpenShape& to, const Axes& axes);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RESHAPE_AXES_H_
