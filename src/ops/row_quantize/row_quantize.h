// row_quantize: scales and zero points from the data, one per row, in the forms of LiteRT and PyTorch. Part of
// ops/.
#ifndef OCTAVO_OPS_ROW_QUANTIZE_ROW_QUANTIZE_H_
#define OCTAVO_OPS_ROW_QUANTIZE_ROW_QUANTIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/run_scale.h"
#include "graph/op.h"

namespace octavo {

struct RowQuantizeAttrs {
  DynamicForm form = DynamicForm::onnx;
  std::int64_t axis = 0;     // a row is all axes from this one on: 0 for the whole tensor, 1 for each image
  float least_scale = 0.0f;  // of PyTorch's forms; finite, not negative

  bool operator==(const RowQuantizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &RowQuantizeAttrs::form}, Field{"axis", &RowQuantizeAttrs::axis},
                      Field{"least_scale", &RowQuantizeAttrs::least_scale});
  }
};

// outputs: y (u8), scale (f32) and zero_point (u8) of the shape of x's axes before `axis`. The range of a row always
// contains 0. inputs: x (f32).
extern const OpSpec kRowQuantize;

}  // namespace octavo

#endif  // OCTAVO_OPS_ROW_QUANTIZE_ROW_QUANTIZE_H_
