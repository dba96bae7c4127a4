// gather: picks slices by index; any type. Part of ops/.
#ifndef OCTAVO_OPS_GATHER_GATHER_H_
#define OCTAVO_OPS_GATHER_GATHER_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct GatherAttrs {
  std::int64_t axis = 0;

  bool operator==(const GatherAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"axis", &GatherAttrs::axis}); }
};

// y = x[..., indices, ...] along axis; indices s32 or s64, negative from the end; infer checks them where they are
// constant, else they are clamped. inputs: x, indices.
extern const OpSpec kGather;

}  // namespace octavo

#endif  // OCTAVO_OPS_GATHER_GATHER_H_
