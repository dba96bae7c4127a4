// bitcast: the same bytes as another element type. Part of ops/.
#ifndef OCTAVO_OPS_BITCAST_BITCAST_H_
#define OCTAVO_OPS_BITCAST_BITCAST_H_

#include <tuple>

#include "graph/op.h"

namespace octavo {

struct BitcastAttrs {
  DType to = DType::f32;

  bool operator==(const BitcastAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"to", &BitcastAttrs::to}); }
};

// y has the bits of x, in a type of equally many that is not bool. inputs: x.
extern const OpSpec kBitcast;

}  // namespace octavo

#endif  // OCTAVO_OPS_BITCAST_BITCAST_H_
