// binary: functions of two elements, with numpy broadcasting. Part of ops/.
#ifndef OCTAVO_OPS_BINARY_BINARY_H_
#define OCTAVO_OPS_BINARY_BINARY_H_

#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/binary/kind.h"

namespace octavo {

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
