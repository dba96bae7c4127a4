// Scales and zero points as inputs. Part of ops/.
#include "ops/scales.h"

#include <string>

namespace octavo {
namespace {

bool is_one(const OpenShape& shape) { return shape.rank() == 0 || shape == Shape{1}; }

}  // namespace

std::int64_t ScaleLayout::index_of(const Shape& x, std::int64_t element) const {
  if (axis < 0) return 0;
  const int at = static_cast<int>(axis);
  const std::int64_t inner = x.elements(at + 1, x.rank());
  const std::int64_t position = element / inner % x[at];
  if (block == 0) return position;
  const std::int64_t blocks = (x[at] + block - 1) / block;
  return (element / (inner * x[at]) * blocks + position / block) * inner + element % inner;
}

Problem check_scales(const ScaleLayout& layout, const OpenShape& x, const Fact& scale, const Fact* zero_point) {
  if (auto problem = first_of({check_range("axis", layout.axis, -1, std::int64_t{x.rank()} - 1),
                               check_range("block", layout.block, 0, kMaxElements)}))
    return problem;
  if (layout.block != 0 && layout.axis < 0)
    return shape_error("block", std::to_string(layout.block) + " without an axis", "0");
  if (layout.axis < 0) {
    if (auto problem = check_scalar("scale", scale)) return problem;
  } else {
    const int axis = static_cast<int>(layout.axis);
    OpenShape expected{x[axis]};
    if (layout.block != 0) {
      expected = x;
      expected[axis] = (x[axis] + layout.block - 1) / layout.block;
    }
    if (auto problem = check_shape("scale", scale, expected)) return problem;
  }
  if (zero_point == nullptr || zero_point->shape == scale.shape || (is_one(zero_point->shape) && is_one(scale.shape)))
    return std::nullopt;
  return check_shape("zero_point", *zero_point, scale.shape);
}

std::optional<QuantParams> known_quant(const ScaleLayout& layout, const Fact& scale, const Fact* zero_point) {
  if (layout.block != 0 || !scale.is_constant() || (zero_point != nullptr && !zero_point->is_constant()))
    return std::nullopt;
  QuantParams quant{.scale = to_floats(scale.constant->view()), .axis = static_cast<int>(layout.axis)};
  quant.zero_point.assign(quant.scale.size(), 0);
  if (zero_point != nullptr) {
    const auto zeros = to_int64s(zero_point->constant->view());
    for (std::size_t i = 0; i < zeros.size() && i < quant.zero_point.size(); ++i)
      quant.zero_point[i] = static_cast<std::int32_t>(zeros[i]);
  }
  return quant;
}

}  // namespace octavo
