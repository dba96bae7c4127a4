// Transposes around an operator. Part of lower/.
#include "lower/last_axis.h"

#include "lower/tensor_edit.h"
#include "ops/transpose/transpose.h"

namespace octavo {

ValueId with_axis_last(Patch& patch, const Node& node, ValueId x, std::int64_t axis,
                       const std::function<ValueId(ValueId)>& make) {
  const int rank = patch.fact(x).shape.rank();
  if (axis == rank - 1) return make(x);
  Axes there = identity_axes(rank);
  there.erase(there.begin() + static_cast<std::ptrdiff_t>(axis));
  there.push_back(axis);
  const ValueId lines = patch.add(kTranspose, TransposeAttrs{there}, {x}, node.name + "/lines", node.origin);
  return patch.add(kTranspose, TransposeAttrs{inverse(there)}, {make(lines)}, node.name + "/back", node.origin);
}

}  // namespace octavo
