// The functions of binary as plain data, so that code of devices may include it. Part of ops/.
#ifndef OCTAVO_OPS_BINARY_KIND_H_
#define OCTAVO_OPS_BINARY_KIND_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// Which function. Numbers are part of the artifact format.
enum class BinaryKind : std::uint8_t {
  add = 0,
  sub = 1,
  mul = 2,
  div = 3,
  pow = 4,
  min = 5,
  max = 6,
  mod = 7,
  prelu = 8,
  equal = 9,
  greater = 10,
  greater_or_equal = 11,
  less = 12,
  less_or_equal = 13,
  logical_and = 14,
  logical_or = 15,
  logical_xor = 16,
  shift_left = 17,
  shift_right = 18,
  bitwise_and = 19,
  bitwise_or = 20,
  bitwise_xor = 21
};
constexpr int count_of(BinaryKind) { return 22; }
constexpr std::string_view name_of(BinaryKind value) {
  constexpr std::string_view names[] = {
      "add",         "sub",           "mul",         "div",        "pow",         "min",
      "max",         "mod",           "prelu",       "equal",      "greater",     "greater_or_equal",
      "less",        "less_or_equal", "logical_and", "logical_or", "logical_xor", "shift_left",
      "shift_right", "bitwise_and",   "bitwise_or",  "bitwise_xor"};
  return names[static_cast<int>(value)];
}

}  // namespace octavo

#endif  // OCTAVO_OPS_BINARY_KIND_H_
