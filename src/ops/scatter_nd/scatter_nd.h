// scatter_nd: x with slices replaced or joined; any type. Part of ops/.
#ifndef OCTAVO_OPS_SCATTER_ND_SCATTER_ND_H_
#define OCTAVO_OPS_SCATTER_ND_SCATTER_ND_H_

#include <tuple>

#include "graph/op.h"
#include "ops/scatter.h"

namespace octavo {

struct ScatterNdAttrs {
  ScatterKind kind = ScatterKind::assign;

  bool operator==(const ScatterNdAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"kind", &ScatterNdAttrs::kind}); }
};

// y = x, then, for every i in row-major order: y[indices[i, 0], ..., indices[i, q - 1]] = kind(that, updates[i]).
// indices [..., q], s32 or s64, negative from the end; updates of indices outside are dropped. inputs: x, indices,
// updates [..., the axes of x from q on].
extern const OpSpec kScatterNd;

}  // namespace octavo

#endif  // OCTAVO_OPS_SCATTER_ND_SCATTER_ND_H_
