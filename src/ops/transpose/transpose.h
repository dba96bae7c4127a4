// transpose: permutes axes; any type. Part of ops/.
#ifndef OCTAVO_OPS_TRANSPOSE_TRANSPOSE_H_
#define OCTAVO_OPS_TRANSPOSE_TRANSPOSE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct TransposeAttrs {
  std::vector<std::int64_t> perm;  // axis i of y is axis perm[i] of x

  bool operator==(const TransposeAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"perm", &TransposeAttrs::perm}); }
};

// inputs: x.
extern const OpSpec kTranspose;

}  // namespace octavo

#endif  // OCTAVO_OPS_TRANSPOSE_TRANSPOSE_H_
