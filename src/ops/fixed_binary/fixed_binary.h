// fixed_binary: functions of two quantized values in fixed point; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_FIXED_BINARY_FIXED_BINARY_H_
#define OCTAVO_OPS_FIXED_BINARY_FIXED_BINARY_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fixed_point.h"
#include "graph/op.h"

namespace octavo {

struct FixedBinaryAttrs {
  FixedBinaryForm form;
  DType to = DType::u8;
  Profile profile = Profile::tflite_double;
  std::int32_t a_zero_point = 0;
  std::int32_t b_zero_point = 0;
  std::int32_t zero_point = 0;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;

  // Of values as they are stored.
  std::int32_t apply(std::int32_t a, std::int32_t b) const {
    const std::int64_t y = std::int64_t{form.apply(profile, a - a_zero_point, b - b_zero_point)} + zero_point;
    return static_cast<std::int32_t>(y < lowest ? lowest : (y > highest ? highest : y));
  }

  bool operator==(const FixedBinaryAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"form", &FixedBinaryAttrs::form}, Field{"to", &FixedBinaryAttrs::to},
        Field{"profile", &FixedBinaryAttrs::profile}, Field{"a_zero_point", &FixedBinaryAttrs::a_zero_point},
        Field{"b_zero_point", &FixedBinaryAttrs::b_zero_point}, Field{"zero_point", &FixedBinaryAttrs::zero_point},
        Field{"lowest", &FixedBinaryAttrs::lowest}, Field{"highest", &FixedBinaryAttrs::highest});
  }
};

// y = clamp(FixedBinaryForm::apply(a - a_zero_point, b - b_zero_point) + zero_point) of base/fixed_point.h, numpy
// broadcasting. inputs: a, b (u8 or s8 each).
extern const OpSpec kFixedBinary;

}  // namespace octavo

#endif  // OCTAVO_OPS_FIXED_BINARY_FIXED_BINARY_H_
