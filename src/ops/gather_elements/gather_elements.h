// gather_elements: picks each element by an index of its own; any type. Part of ops/.
#ifndef OCTAVO_OPS_GATHER_ELEMENTS_GATHER_ELEMENTS_H_
#define OCTAVO_OPS_GATHER_ELEMENTS_GATHER_ELEMENTS_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct GatherElementsAttrs {
  std::int64_t axis = 0;

  bool operator==(const GatherElementsAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"axis", &GatherElementsAttrs::axis}); }
};

// y[i, j, k] = x[i, indices[i, j, k], k], for axis 1. indices s32 or s64, negative from the end, of x's rank and, but
// along the axis, at most as large; infer checks them where they are constant, else they are clamped. inputs: x,
// indices.
extern const OpSpec kGatherElements;

}  // namespace octavo

#endif  // OCTAVO_OPS_GATHER_ELEMENTS_GATHER_ELEMENTS_H_
