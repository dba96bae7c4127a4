// Operators that work along the last axis, on others. Part of lower/.
#ifndef OCTAVO_LOWER_LAST_AXIS_H_
#define OCTAVO_LOWER_LAST_AXIS_H_

#include <functional>

#include "graph/patch.h"

namespace octavo {

// What `make` gives of x with `axis` as its last one, in x's own order of axes. Nodes are named after `node`.
ValueId with_axis_last(Patch& patch, const Node& node, ValueId x, std::int64_t axis,
                       const std::function<ValueId(ValueId)>& make);

}  // namespace octavo

#endif  // OCTAVO_LOWER_LAST_AXIS_H_
