// quantized_pool: average pooling and spatial mean of quantized values; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_POOL_QUANTIZED_POOL_H_
#define OCTAVO_OPS_QUANTIZED_POOL_QUANTIZED_POOL_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/requantize.h"
#include "base/rescale.h"
#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

// Which formula of the profile. Numbers are part of the artifact format.
enum class QuantizedPoolForm : std::uint8_t {
  average_pool = 0,
  global_average_pool = 1,
  integer_average = 2,
  stored_sum = 3
};
constexpr int count_of(QuantizedPoolForm) { return 4; }
constexpr std::string_view name_of(QuantizedPoolForm value) {
  constexpr std::string_view names[] = {"average_pool", "global_average_pool", "integer_average", "stored_sum"};
  return names[static_cast<int>(value)];
}

struct QuantizedPoolAttrs {
  QuantizedPoolForm form = QuantizedPoolForm::average_pool;
  Window window;  // two spatial axes
  Rounding rounding = Rounding::floor;
  bool count_include_pad = false;
  DType to = DType::u8;
  Profile profile = Profile::onnx;
  float x_scale = 1.0f;
  float y_scale = 1.0f;
  std::int32_t x_zero_point = 0;
  std::int32_t zero_point = 0;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;
  StoredSumForm sum;       // stored_sum only
  std::int32_t shift = 0;  // y is stored with this added; zero_point, lowest and highest are those before

  bool operator==(const QuantizedPoolAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &QuantizedPoolAttrs::form}, Field{"window", &QuantizedPoolAttrs::window},
                      Field{"rounding", &QuantizedPoolAttrs::rounding},
                      Field{"count_include_pad", &QuantizedPoolAttrs::count_include_pad},
                      Field{"to", &QuantizedPoolAttrs::to}, Field{"profile", &QuantizedPoolAttrs::profile},
                      Field{"x_scale", &QuantizedPoolAttrs::x_scale}, Field{"y_scale", &QuantizedPoolAttrs::y_scale},
                      Field{"x_zero_point", &QuantizedPoolAttrs::x_zero_point},
                      Field{"zero_point", &QuantizedPoolAttrs::zero_point},
                      Field{"lowest", &QuantizedPoolAttrs::lowest}, Field{"highest", &QuantizedPoolAttrs::highest},
                      Field{"sum", &QuantizedPoolAttrs::sum}, Field{"shift", &QuantizedPoolAttrs::shift});
  }
};

// channels_last [N,H,W,C]. Formulas of base/requantize.h, measured against ONNX Runtime's QLinearAveragePool and
// QLinearGlobalAveragePool:
//   average_pool: sum = average_pool_add over the elements of the window that are inside the image, in row-major order,
//   in f32;
//                 q = average_pool_value(sum, count), count = kernel size with count_include_pad, else the elements
//                 inside.
//   global_average_pool (the window is the image): q = requantize(exact s32 sum of x - x_zp,
//   global_average_multiplier(...)). integer_average (TFLite): q = integer_average(exact s32 sum of x - x_zero_point,
//   elements inside); x_zero_point is what x is stored with added to it,
//                 not what the real value 0 has. At most 2048 elements along each axis of the window.
//   stored_sum (XNNPACK's sums and means; the window is the image): q = sum.apply(exact s32 sum of x - x_zero_point),
//   x_zero_point as for integer_average, zero_point not used.
// ONNX Runtime computes every window over the whole image without padding by the global form. q + shift is stored.
// inputs: x, table? [256] applied last.
extern const OpSpec kQuantizedPool;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_POOL_QUANTIZED_POOL_H_
