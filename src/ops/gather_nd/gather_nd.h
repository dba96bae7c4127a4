// gather_nd: picks slices by lists of indices; any type. Part of ops/.
#ifndef OCTAVO_OPS_GATHER_ND_GATHER_ND_H_
#define OCTAVO_OPS_GATHER_ND_GATHER_ND_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct GatherNdAttrs {
  std::int64_t batch_dims = 0;  // leading axes that x and indices share

  bool operator==(const GatherNdAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"batch_dims", &GatherNdAttrs::batch_dims}); }
};

// y[b, i] = x[b, indices[b, i, 0], ..., indices[b, i, q - 1]], b over the leading axes; indices [..., q], s32 or s64,
// negative from the end, clamped where they lie outside. inputs: x, indices.
extern const OpSpec kGatherNd;

}  // namespace octavo

#endif  // OCTAVO_OPS_GATHER_ND_GATHER_ND_H_
