// cast: converts the element type. Part of ops/.
#ifndef OCTAVO_OPS_CAST_CAST_H_
#define OCTAVO_OPS_CAST_CAST_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct CastAttrs {
  DType to = DType::f32;

  bool operator==(const CastAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"to", &CastAttrs::to}); }
};

// Floats to integers truncate towards zero and saturate; integers to integers wrap; to bool: x != 0. inputs: x.
extern const OpSpec kCast;

}  // namespace octavo

#endif  // OCTAVO_OPS_CAST_CAST_H_
