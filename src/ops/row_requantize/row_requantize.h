// row_requantize: bytes of s16 values, or of GELU of them, with a scale for each row; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_ROW_REQUANTIZE_ROW_REQUANTIZE_H_
#define OCTAVO_OPS_ROW_REQUANTIZE_ROW_REQUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "graph/op.h"
#include "ops/row_requantize/row_scale.h"

namespace octavo {

// Numbers are part of the artifact format.
enum class RowFunction : std::uint8_t { identity = 0, gelu = 1, gelu_tanh = 2 };
constexpr int count_of(RowFunction) { return 3; }
constexpr std::string_view name_of(RowFunction function) {
  constexpr std::string_view names[] = {"identity", "gelu", "gelu_tanh"};
  return names[static_cast<int>(function)];
}

struct RowRequantizeAttrs {
  RowFunction function = RowFunction::identity;
  float x_scale = 1.0f;  // real = f32(x) * x_scale

  bool is_gelu() const { return function != RowFunction::identity; }
  RowValues values() const {
    return {is_gelu(), x_scale, (function == RowFunction::gelu ? kNearGelu : kNearGeluTanh).of_units(x_scale)};
  }

  bool operator==(const RowRequantizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"function", &RowRequantizeAttrs::function}, Field{"x_scale", &RowRequantizeAttrs::x_scale});
  }
};

// Along the last axis: y = sat(rne(fma(f, r, zero_point))), f = f32(x) * x_scale, near_gelu of it, or f32(x) * factor
// where there are factors (with function identity alone); r, zero_point and scale are those of form xnnpack of the
// row's range of f (base/run_scale.h). inputs: x s16 [..., n], factor? f32 [n]; outputs: y (u8) of x's shape, scale
// (f32) and zero_point (u8) of x's axes before the last.
inline constexpr std::size_t kRowFactor = 1;
extern const OpSpec kRowRequantize;

}  // namespace octavo

#endif  // OCTAVO_OPS_ROW_REQUANTIZE_ROW_REQUANTIZE_H_
