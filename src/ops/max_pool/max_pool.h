// max_pool: largest value under a window; any ordered type. Part of ops/.
#ifndef OCTAVO_OPS_MAX_POOL_MAX_POOL_H_
#define OCTAVO_OPS_MAX_POOL_MAX_POOL_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct MaxPoolAttrs {
  Window window;
  Rounding rounding = Rounding::floor;
  Layout layout = Layout::channels_first;

  bool operator==(const MaxPoolAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &MaxPoolAttrs::window}, Field{"rounding", &MaxPoolAttrs::rounding},
                      Field{"layout", &MaxPoolAttrs::layout});
  }
};

// Padding never wins: a window covers at least one element of x (infer refuses others). A quantized x keeps its scale.
extern const OpSpec kMaxPool;

}  // namespace octavo

#endif  // OCTAVO_OPS_MAX_POOL_MAX_POOL_H_
