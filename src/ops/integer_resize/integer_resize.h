// integer_resize: bilinear interpolation of 8-bit values themselves; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_INTEGER_RESIZE_INTEGER_RESIZE_H_
#define OCTAVO_OPS_INTEGER_RESIZE_INTEGER_RESIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/integer_resize/interpolated.h"

namespace octavo {

struct IntegerResizeAttrs {
  ResizeRounding rounding = ResizeRounding::ten_bits;
  std::int32_t shift = 0;  // x and y are stored with this added

  bool operator==(const IntegerResizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"rounding", &IntegerResizeAttrs::rounding}, Field{"shift", &IntegerResizeAttrs::shift});
  }
};

// x u8 or s8 [N, H, W, C], y [N, OH, OW, C]. rows s32 [OH, 2]: the two rows of x (bounded to 0..H-1), row_weights f32
// [OH]: the weight of the second; columns [OW, 2] and column_weights [OW] alike. Weights in units of the rounding,
// whole numbers there; a first one is what the second leaves of 1.
//   y = rounded(x00 (1-wy)(1-wx) + x10 wy (1-wx) + x01 (1-wy) wx + x11 wy wx), in this order where it matters.
extern const OpSpec kIntegerResize;

// One row of y, the rows of x being given. Shared by reference and kernel.
struct ResizeRow {
  const std::byte* first = nullptr;
  const std::byte* second = nullptr;
  float weight = 0.0f;
  const std::int32_t* columns = nullptr;
  const float* column_weights = nullptr;
  std::int64_t from_width = 1, width = 1, channels = 1;
  DType dtype = DType::u8;
};
void resize_row(const IntegerResizeAttrs& attrs, const ResizeRow& row, std::byte* y);

}  // namespace octavo

#endif  // OCTAVO_OPS_INTEGER_RESIZE_INTEGER_RESIZE_H_
