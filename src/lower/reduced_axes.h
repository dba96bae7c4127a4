// The axes of a reduction as one. Part of lower/.
#ifndef OCTAVO_LOWER_REDUCED_AXES_H_
#define OCTAVO_LOWER_REDUCED_AXES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/shape.h"
#include "ops/reduce/reduce.h"

namespace octavo {

// The shape seen as [outer, terms, inner], `terms` being what is reduced.
struct ReducedAxes {
  Dim outer = 1, terms = 1, inner = 1;
};

// Nothing where the axes, those of size 1 left out, are no neighbours.
std::optional<ReducedAxes> reduced_axes(const OpenShape& shape, const ReduceAttrs& reduce);

// A transpose after which they are: what is kept, in its order, then what is reduced.
struct ReducedLast {
  std::vector<std::int64_t> perm;
  ReducedAxes axes;
};
ReducedLast reduced_last(const OpenShape& shape, const ReduceAttrs& reduce);

}  // namespace octavo

#endif  // OCTAVO_LOWER_REDUCED_AXES_H_
