// quantized_pool: average pooling and spatial mean of quantized values; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_POOL_QUANTIZED_POOL_H_
#define OCTAVO_OPS_QUANTIZED_POOL_QUANTIZED_POOL_H_

#include <cstdint>
#include <string_view>
#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"
#include "ops/window.h"

namespace octavo {

// What the epilogue gets. Numbers are part of the artifact format.
enum class QuantizedPoolForm : std::uint8_t { sum = 0, integer_average = 1, real_average = 2 };
constexpr int count_of(QuantizedPoolForm) { return 3; }
constexpr std::string_view name_of(QuantizedPoolForm value) {
  constexpr std::string_view names[] = {"sum", "integer_average", "real_average"};
  return names[static_cast<int>(value)];
}

struct QuantizedPoolAttrs {
  QuantizedPoolForm form = QuantizedPoolForm::sum;
  Window window;  // two spatial axes
  Rounding rounding = Rounding::floor;
  bool count_include_pad = false;  // averages only
  float x_scale = 1.0f;            // real_average only
  std::int32_t x_zero_point = 0;
  Epilogue epilogue;

  bool operator==(const QuantizedPoolAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &QuantizedPoolAttrs::form}, Field{"window", &QuantizedPoolAttrs::window},
                      Field{"rounding", &QuantizedPoolAttrs::rounding},
                      Field{"count_include_pad", &QuantizedPoolAttrs::count_include_pad},
                      Field{"x_scale", &QuantizedPoolAttrs::x_scale},
                      Field{"x_zero_point", &QuantizedPoolAttrs::x_zero_point},
                      Field{"epilogue", &QuantizedPoolAttrs::epilogue});
  }
};

// channels_last [N,H,W,C]. y = epilogue of, over the elements of the window that are inside the image,
//   sum: the s32 sum of x - x_zero_point, which wraps where it leaves 32 bits;
//   integer_average: integer_average() of that and their number, TFLite's; x_zero_point is what x is stored with added
//   to it, not what the real value 0 has. At most 2048 elements along each axis of the window;
//   real_average: f32, average_pool_add in row-major order over their number, or over the kernel's size with
//   count_include_pad.
// The profiles of average pools, means and sums are told in base/requantize.h and base/rescale.h. inputs: x, then the
// operands of the epilogue.
inline constexpr std::size_t kPoolOperands = 1;
extern const OpSpec kQuantizedPool;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_POOL_QUANTIZED_POOL_H_
