// average_pool: mean under a window. Part of ops/.
#ifndef OCTAVO_OPS_AVERAGE_POOL_AVERAGE_POOL_H_
#define OCTAVO_OPS_AVERAGE_POOL_AVERAGE_POOL_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct AveragePoolAttrs {
  Window window;
  Rounding rounding = Rounding::floor;
  bool count_include_pad = false;  // divide by the number of positions inside the padded image, else inside the image
  Layout layout = Layout::channels_first;

  bool operator==(const AveragePoolAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &AveragePoolAttrs::window}, Field{"rounding", &AveragePoolAttrs::rounding},
                      Field{"count_include_pad", &AveragePoolAttrs::count_include_pad},
                      Field{"layout", &AveragePoolAttrs::layout});
  }
};

// Floats: summed in f64, times 1 / count in f64, rounded once.
extern const OpSpec kAveragePool;

}  // namespace octavo

#endif  // OCTAVO_OPS_AVERAGE_POOL_AVERAGE_POOL_H_
