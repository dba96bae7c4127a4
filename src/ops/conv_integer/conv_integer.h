// conv_integer: exact convolution of 8-bit values to s32, zero points subtracted (ONNX ConvInteger). Part of ops/.
#ifndef OCTAVO_OPS_CONV_INTEGER_CONV_INTEGER_H_
#define OCTAVO_OPS_CONV_INTEGER_CONV_INTEGER_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct ConvIntegerAttrs {
  Window window;
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;

  bool operator==(const ConvIntegerAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &ConvIntegerAttrs::window}, Field{"groups", &ConvIntegerAttrs::groups},
                      Field{"layout", &ConvIntegerAttrs::layout});
  }
};

// y = sum (x - x_zp) * (w - w_zp), s32; outside the image x counts as x_zp. inputs: x, w, x_zp?, w_zp? (scalar, or [OC]
// for w_zp). u8 or s8.
extern const OpSpec kConvInteger;

}  // namespace octavo

#endif  // OCTAVO_OPS_CONV_INTEGER_CONV_INTEGER_H_
