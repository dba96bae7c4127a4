// Changes of scale in fixed point. Part of import/.
#include "import/tflite/fixed_scaling.h"

#include <algorithm>

namespace octavo::tflite_import {
namespace {

// Operations on s64 by numbers.
struct FixedArithmetic {
  OperatorReader& in;
  std::string name;

  ValueId with(BinaryKind kind, ValueId x, std::int64_t number, const std::string& suffix) const {
    return in.binary(kind, x, in.constant(Tensor::scalar(number), name + "." + suffix + ".by"), name + "." + suffix);
  }
  ValueId saturated(ValueId x, std::int64_t zero_point, IntegerRange range) const {
    const ValueId y = with(BinaryKind::add, x, zero_point, "whole");
    return with(BinaryKind::min, with(BinaryKind::max, y, range.lowest, "above"), range.highest, "within");
  }
};

}  // namespace

ValueId times_fixed(OperatorReader& in, ValueId x, const FixedMultiplier& factor, std::int64_t zero_point,
                    IntegerRange range, const std::string& name) {
  const FixedArithmetic by{in, name};
  ValueId y = by.with(BinaryKind::mul, x, std::int64_t{factor.multiplier} << std::max(factor.shift, 0), "product");
  // Halves up, then what a shift takes away: halves away from 0.
  y = by.with(BinaryKind::shift_right, by.with(BinaryKind::add, y, std::int64_t{1} << 30, "halves"), 31, "high");
  if (factor.shift < 0) {
    const std::int64_t shift = -factor.shift;
    const ValueId below = by.with(BinaryKind::shift_right, y, 63, "below");
    const ValueId near = by.with(BinaryKind::add, y, std::int64_t{1} << (shift - 1), "near");
    y = by.with(BinaryKind::shift_right, in.binary(BinaryKind::add, near, below, name + ".nearer"), shift, "shifted");
  }
  return by.saturated(y, zero_point, range);
}

ValueId times_wide(OperatorReader& in, ValueId x, const FixedMultiplier& factor, const std::string& name) {
  const FixedArithmetic by{in, name};
  const WideMultiplier wide = WideMultiplier::of(factor);
  const ValueId product = by.with(BinaryKind::mul, x, wide.multiplier, "product");
  const ValueId near = by.with(BinaryKind::add, product, std::int64_t{1} << (wide.shift - 1), "near");
  const ValueId low = in.cast(by.with(BinaryKind::shift_right, near, wide.shift, "shifted"), DType::s32, name + ".low");
  return in.cast(low, DType::s64, name + ".scaled");
}

ValueId saturated(OperatorReader& in, ValueId x, std::int64_t zero_point, DType type, const std::string& name) {
  return in.cast(FixedArithmetic{in, name}.saturated(x, zero_point, range_of(type)), type);
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
