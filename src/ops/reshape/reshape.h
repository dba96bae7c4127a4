// reshape: the same elements under another shape. Part of ops/.
#ifndef OCTAVO_OPS_RESHAPE_RESHAPE_H_
#define OCTAVO_OPS_RESHAPE_RESHAPE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct ReshapeAttrs {
  std::vector<Dim> shape;  // concrete: no 0 or -1 placeholders

  bool operator==(const ReshapeAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"shape", &ReshapeAttrs::shape}); }
};

// inputs: x.
extern const OpSpec kReshape;

}  // namespace octavo

#endif  // OCTAVO_OPS_RESHAPE_RESHAPE_H_
