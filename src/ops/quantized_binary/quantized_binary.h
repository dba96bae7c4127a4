// quantized_binary: addition or multiplication of quantized values; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_BINARY_QUANTIZED_BINARY_H_
#define OCTAVO_OPS_QUANTIZED_BINARY_QUANTIZED_BINARY_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/requantize.h"
#include "graph/op.h"

namespace octavo {

// Which. Numbers are part of the artifact format.
enum class QuantizedBinaryKind : std::uint8_t { add = 0, mul = 1, integer_add = 2 };
constexpr int count_of(QuantizedBinaryKind) { return 3; }
constexpr std::string_view name_of(QuantizedBinaryKind value) {
  constexpr std::string_view names[] = {"add", "mul", "integer_add"};
  return names[static_cast<int>(value)];
}

struct QuantizedBinaryAttrs {
  QuantizedBinaryKind kind = QuantizedBinaryKind::add;
  DType to = DType::u8;
  AddForm add;                    // add only
  IntegerAddForm integer_add;     // integer_add only; a and b as they are stored
  std::int32_t a_zero_point = 0;  // mul only
  std::int32_t b_zero_point = 0;  // mul only
  float ratio = 1.0f;             // mul only: a_scale * b_scale / y_scale
  std::int32_t zero_point = 0;    // mul only
  std::int32_t lowest = 0;
  std::int32_t highest = 255;
  std::int32_t shift = 0;  // mul only: y is stored with this added; zero_point, lowest and highest are those before
                           // (add has add.shift, integer_add none)

  bool operator==(const QuantizedBinaryAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"kind", &QuantizedBinaryAttrs::kind}, Field{"to", &QuantizedBinaryAttrs::to},
        Field{"add", &QuantizedBinaryAttrs::add}, Field{"integer_add", &QuantizedBinaryAttrs::integer_add},
        Field{"a_zero_point", &QuantizedBinaryAttrs::a_zero_point},
        Field{"b_zero_point", &QuantizedBinaryAttrs::b_zero_point}, Field{"ratio", &QuantizedBinaryAttrs::ratio},
        Field{"zero_point", &QuantizedBinaryAttrs::zero_point}, Field{"lowest", &QuantizedBinaryAttrs::lowest},
        Field{"highest", &QuantizedBinaryAttrs::highest}, Field{"shift", &QuantizedBinaryAttrs::shift});
  }
};

// Formulas of base/requantize.h: AddForm::apply, multiply_value, IntegerAddForm::apply. numpy broadcasting. inputs: a,
// b (u8 or s8 each), table? [256] applied last (its type is then the type of y).
extern const OpSpec kQuantizedBinary;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_BINARY_QUANTIZED_BINARY_H_
