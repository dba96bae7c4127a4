// argmax_pool: where the largest value under a window lies. Part of ops/.
#ifndef OCTAVO_OPS_ARGMAX_POOL_ARGMAX_POOL_H_
#define OCTAVO_OPS_ARGMAX_POOL_ARGMAX_POOL_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct ArgmaxPoolAttrs {
  Window window;
  Rounding rounding = Rounding::floor;
  bool is_column_major = false;  // spatial axes count backwards: the first one's elements are neighbours

  bool operator==(const ArgmaxPoolAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &ArgmaxPoolAttrs::window}, Field{"rounding", &ArgmaxPoolAttrs::rounding},
                      Field{"is_column_major", &ArgmaxPoolAttrs::is_column_major});
  }
};

// x [N, C, spatial]: y, s64, is the number among all of x's elements, in row-major order, of what max_pool gives: the
// first of equals, the last of those that are no number. Types as max_pool, without halves. inputs: x.
extern const OpSpec kArgmaxPool;

}  // namespace octavo

#endif  // OCTAVO_OPS_ARGMAX_POOL_ARGMAX_POOL_H_
