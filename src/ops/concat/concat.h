// concat: joins along one axis; any type. Part of ops/.
#ifndef OCTAVO_OPS_CONCAT_CONCAT_H_
#define OCTAVO_OPS_CONCAT_CONCAT_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct ConcatAttrs {
  std::int64_t axis = 0;

  bool operator==(const ConcatAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"axis", &ConcatAttrs::axis}); }
};

// inputs: xs*.
extern const OpSpec kConcat;

}  // namespace octavo

#endif  // OCTAVO_OPS_CONCAT_CONCAT_H_
