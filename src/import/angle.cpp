// The angle of a point. Part of import/.
#include "import/rare_verbs.h"
#include "ops/where/where.h"

namespace octavo::importing {

// That of y / |x|, mirrored where x is negative.
ValueId angle(NodeBuilder& in, ValueId y, ValueId x) {
  if (in.failed()) return {};
  constexpr double kHalfTurn = kTurn / 2;
  const auto where = [&](ValueId condition, ValueId a, ValueId b, std::string_view name) {
    return in.add(kWhere, NoAttrs{}, {condition, a, b}, name);
  };
  const ValueId zero = in.scalar_like(x, 0.0, "zero");
  const ValueId is_left = in.binary(BinaryKind::less, x, zero, "is_left");
  const ValueId is_below = in.binary(BinaryKind::less, y, zero, "is_below");
  const ValueId turn =
      where(is_below, in.scalar_like(x, -kHalfTurn, "down"), in.scalar_like(x, kHalfTurn, "up"), "turn");
  const ValueId slope = in.binary(BinaryKind::div, y, in.unary({.kind = UnaryKind::abs}, x, "size"), "slope");
  const ValueId near = in.unary({.kind = UnaryKind::atan}, slope, "near");
  const ValueId is_nothing = in.binary(BinaryKind::logical_and, in.binary(BinaryKind::equal, y, zero, "y_is_0"),
                                       in.binary(BinaryKind::equal, x, zero, "x_is_0"), "is_nothing");
  const ValueId angle = where(is_left, in.binary(BinaryKind::sub, turn, near, "far"), near, "angle");
  return where(is_nothing, zero, angle, "");
}

}  // namespace octavo::importing
