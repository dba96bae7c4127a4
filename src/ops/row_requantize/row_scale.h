// The scale of a row of s16 values, so that code of devices may include it. Part of ops/.
#ifndef OCTAVO_OPS_ROW_REQUANTIZE_ROW_SCALE_H_
#define OCTAVO_OPS_ROW_REQUANTIZE_ROW_SCALE_H_

#include "base/near_gelu.h"
#include "base/run_scale.h"

namespace octavo {

// Real values f32(x) * x_scale, or GELU of them.
struct RowValues {
  bool is_gelu = false;
  float x_scale = 1.0f;
  NearGelu gelu;  // of x itself
};

namespace {

// Of a row whose x lies in [lowest, highest], whole numbers about 0: values lie in what this scale holds. GELU grows
// from 0 on, and its lowest value is a constant.
constexpr RunScale row_scale(const RowValues& values, float lowest, float highest) {
  if (values.is_gelu) return RunScale::of(DynamicForm::xnnpack, kLowestGelu, near_gelu<Lane>(values.gelu, highest));
  return RunScale::of(DynamicForm::xnnpack, lowest * values.x_scale, highest * values.x_scale);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_OPS_ROW_REQUANTIZE_ROW_SCALE_H_
