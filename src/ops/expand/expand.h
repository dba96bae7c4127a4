// expand: numpy broadcast to a shape. Part of ops/.
#ifndef OCTAVO_OPS_EXPAND_EXPAND_H_
#define OCTAVO_OPS_EXPAND_EXPAND_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct ExpandAttrs {
  std::vector<Dim> shape;  // of the result

  bool operator==(const ExpandAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"shape", &ExpandAttrs::shape}); }
};

// inputs: x.
extern const OpSpec kExpand;

}  // namespace octavo

#endif  // OCTAVO_OPS_EXPAND_EXPAND_H_
