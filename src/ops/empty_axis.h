// Picking from an axis that may be empty. Part of ops/.
#ifndef OCTAVO_OPS_EMPTY_AXIS_H_
#define OCTAVO_OPS_EMPTY_AXIS_H_

#include "base/dim.h"
#include "graph/op.h"

namespace octavo {

// Whether indices pick something from an axis of nothing. Of open sizes nothing is asked, so that both may come to be
// empty together: once they are numbers, a shape rule sees these.
inline bool picks_from_nothing(const Dim& axis, const OpenShape& indices) {
  const Dim picked = indices.elements();
  return is_zero(axis) && picked.is_number() && picked != 0;
}

}  // namespace octavo

#endif  // OCTAVO_OPS_EMPTY_AXIS_H_
