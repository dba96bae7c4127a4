// Verbs of quantization. Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/verbs.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"

namespace octavo::importing {

bool is_scale(float scale) { return std::isfinite(scale) && scale > 0.0f; }

Scales constant_scales(NodeBuilder& in, const std::vector<float>& scales, const Integers& zero_points, DType type,
                       std::int64_t axis, const std::string& place, const std::string& prefix) {
  const Shape shape = axis < 0 ? Shape{} : Shape{static_cast<std::int64_t>(scales.size())};
  const IntegerRange range = range_of(type);
  Tensor zero_point(type, shape);
  for (std::size_t i = 0; i < scales.size() && !in.failed(); ++i) {
    if (!is_scale(scales[i])) in.fail(place, "the scale " + print(scales[i]), "a finite number above 0");
    else if (zero_points[i] < range.lowest || zero_points[i] > range.highest)
      in.fail(place, "the zero point " + std::to_string(zero_points[i]),
              "a value of type " + std::string(name_of(type)));
    else store_double(zero_point.view(), static_cast<std::int64_t>(i), static_cast<double>(zero_points[i]));
  }
  if (in.failed()) return {};
  const ValueId scale = in.constant(Tensor::of<float>(shape, scales), prefix + "scale");
  return {scale, in.constant(std::move(zero_point), prefix + "zero_point"), axis};
}

ValueId dequantize(NodeBuilder& in, ValueId x, const Scales& from, std::string_view suffix) {
  return in.add(kDequantize, DequantizeAttrs{.axis = from.axis, .block = from.block}, {x, from.scale, from.zero_point},
                suffix);
}

ValueId quantize(NodeBuilder& in, ValueId x, const Scales& to, DType type, std::string_view suffix,
                 std::optional<IntegerRange> bounds) {
  if (in.failed()) return {};
  if (!in.is_constant(x)) ++in.built().activation_types[type];
  QuantizeAttrs attrs{.to = type, .axis = to.axis, .block = to.block, .profile = in.built().profile};
  if (bounds) attrs.lowest = static_cast<std::int32_t>(bounds->lowest);
  if (bounds) attrs.highest = static_cast<std::int32_t>(bounds->highest);
  return in.add_exactly(kQuantize, attrs, {x, to.scale, to.zero_point}, suffix).front();
}

}  // namespace octavo::importing
