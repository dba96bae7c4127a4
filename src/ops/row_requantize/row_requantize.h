// row_requantize: bytes of s16 values, or of GELU of them, with a scale for each row; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_ROW_REQUANTIZE_ROW_REQUANTIZE_H_
#define OCTAVO_OPS_ROW_REQUANTIZE_ROW_REQUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/near_gelu.h"
#include "base/run_scale.h"
#include "graph/op.h"

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
  // The function of x itself, where it is one.
  NearGelu gelu() const { return (function == RowFunction::gelu ? kNearGelu : kNearGeluTanh).of_units(x_scale); }

  bool operator==(const RowRequantizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"function", &RowRequantizeAttrs::function}, Field{"x_scale", &RowRequantizeAttrs::x_scale});
  }
};

// Of a row whose x lies in [lowest, highest], which contains 0: values of the function lie in what this scale holds.
// GELU grows from 0 on, and its lowest value is a constant. `gelu` is attrs.gelu().
RunScale row_scale(const RowRequantizeAttrs& attrs, const NearGelu& gelu, std::int32_t lowest, std::int32_t highest);

// Along the last axis: y = sat(rne(fma(f, r, zero_point))), f = f32(x) * x_scale, near_gelu of it, or f32(x) * factor
// where there are factors (with function identity alone); r, zero_point and scale are those of form xnnpack of the
// row's range of f (base/run_scale.h). inputs: x s16 [..., n], factor? f32 [n]; outputs: y (u8) of x's shape, scale
// (f32) and zero_point (u8) of x's axes before the last.
inline constexpr std::size_t kRowFactor = 1;
extern const OpSpec kRowRequantize;

}  // namespace octavo

#endif  // OCTAVO_OPS_ROW_REQUANTIZE_ROW_REQUANTIZE_H_
