// scatter_elements: x with single elements replaced or joined; any type. Part of ops/.
#ifndef OCTAVO_OPS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_H_
#define OCTAVO_OPS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/scatter.h"

namespace octavo {

struct ScatterElementsAttrs {
  std::int64_t axis = 0;  // not negative
  ScatterKind kind = ScatterKind::assign;

  bool operator==(const ScatterElementsAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &ScatterElementsAttrs::axis}, Field{"kind", &ScatterElementsAttrs::kind});
  }
};

// y = x, then, in row-major order of i, j, k and for axis 1: y[i, indices[i, j, k], k] = kind(that, updates[i, j, k]).
// indices s32 or s64, negative from the end, of x's rank and, but along the axis, at most as large; updates of outside
// indices are dropped. inputs: x, indices, updates of the indices' shape.
extern const OpSpec kScatterElements;

}  // namespace octavo

#endif  // OCTAVO_OPS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_H_
