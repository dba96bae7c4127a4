// binary: functions of two elements, with numpy broadcasting. Part of ops/.
#ifndef OCTAVO_OPS_BINARY_BINARY_H_
#define OCTAVO_OPS_BINARY_BINARY_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

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

struct BinaryAttrs {
  BinaryKind kind = BinaryKind::add;

  bool operator==(const BinaryAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"kind", &BinaryAttrs::kind}); }
};

// y = f(a, b); comparisons and logic give bool. prelu(a, b) = a < 0 ? a * b : a. Integer division truncates; by zero it
// gives 0. Shifts and bitwise kinds are of integers alone; a shift by less than 0 or by all bits leaves the sign (shift
// right of a negative number: -1, else 0). f32 add, sub, mul, div are one IEEE operation each, pow is pow_f32 of
// base/elementary_pow.h (in tables from f64: ops/in_tables.h). inputs: a, b of one type.
extern const OpSpec kBinary;

// The kinds that two f64 have and that give no boolean.
double binary_f64(BinaryKind kind, double a, double b);

// Whether a node with these attributes is this function of two elements.
inline bool is_binary(const Attrs& attrs, BinaryKind kind) {
  const auto* binary = attrs.get_if<BinaryAttrs>();
  return binary != nullptr && binary->kind == kind;
}

}  // namespace octavo

#endif  // OCTAVO_OPS_BINARY_BINARY_H_
