// Changes of scale in fixed point. Part of import/.
#include "import/tflite/fixed_scaling.h"

#include <algorithm>

namespace octavo::tflite_import {

ValueId times_fixed(OperatorReader& in, ValueId x, const FixedMultiplier& factor, std::int64_t zero_point,
                    IntegerRange range, const std::string& name) {
  const auto number = [&](std::int64_t value, const std::string& suffix) {
    return in.constant(Tensor::scalar(value), name + "." + suffix);
  };
  const auto step = [&](BinaryKind kind, ValueId a, ValueId b, const std::string& suffix) {
    return in.binary(kind, a, b, name + "." + suffix);
  };
  const std::int64_t by = std::int64_t{factor.multiplier} << std::max(factor.shift, 0);
  ValueId y = step(BinaryKind::mul, x, number(by, "by"), "product");
  // Halves up, then what a shift takes away: halves away from 0.
  y = step(BinaryKind::shift_right, step(BinaryKind::add, y, number(std::int64_t{1} << 30, "half"), "halves"),
           number(31, "bits"), "high");
  if (factor.shift < 0) {
    const std::int64_t shift = -factor.shift;
    const ValueId below = step(BinaryKind::shift_right, y, number(63, "sign"), "below");
    const ValueId moved =
        step(BinaryKind::add, step(BinaryKind::add, y, number(std::int64_t{1} << (shift - 1), "nearest"), "near"),
             below, "nearer");
    y = step(BinaryKind::shift_right, moved, number(shift, "shift"), "shifted");
  }
  y = step(BinaryKind::add, y, number(zero_point, "zero_point"), "whole");
  y = step(BinaryKind::max, y, number(range.lowest, "lowest"), "above");
  return step(BinaryKind::min, y, number(range.highest, "highest"), "within");
}

ValueId requantized_words(OperatorReader& in, const QuantParams& from, const QuantParams& to, DType type) {
  const double ratio = static_cast<double>(from.scale[0]) / static_cast<double>(to.scale[0]);
  ValueId x = in.cast(in.stored(0), DType::s64, "wide");
  if (from.zero_point[0] != 0)
    x = in.binary(BinaryKind::sub, x, in.constant(Tensor::scalar(std::int64_t{from.zero_point[0]}), "x.zero_point"),
                  "from_zero");
  return in.cast(times_fixed(in, x, FixedMultiplier::of(ratio), to.zero_point[0], range_of(type), "scaled"), type);
}

}  // namespace octavo::tflite_import
