// ATen readers: quantize and dequantize nodes of pt2e, as operators of their own and written out in single operators.
// Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

// Scales and zero points as inputs of quantize and dequantize.
struct Parameters {
  ValueId scale, zero_point;
  std::int64_t axis = -1;
  bool operator==(const Parameters&) const = default;
};

bool is_usable(float scale) { return std::isnormal(scale) && scale > 0.0f; }

// f32 constants of this shape; zero and NaN would poison every formula.
ValueId add_scales(NodeReader& in, const std::vector<float>& scales, const Shape& shape, std::string_view name) {
  for (float scale : scales) {
    if (is_usable(scale)) continue;
    in.fail("argument '" + std::string(name) + "'", "the scale " + print(scale), "a finite number above 0");
    return {};
  }
  return in.add_constant(Tensor::of<float>(shape, scales), "scale");
}

ValueId add_zero_points(NodeReader& in, const std::vector<std::int64_t>& zero_points, const Shape& shape, DType type,
                        std::string_view name) {
  const IntegerRange range = range_of(type);
  Tensor tensor(type, shape);
  for (std::size_t i = 0; i < zero_points.size(); ++i) {
    if (zero_points[i] < range.lowest || zero_points[i] > range.highest) {
      in.fail("argument '" + std::string(name) + "'", std::to_string(zero_points[i]),
              "a value of type " + std::string(name_of(type)));
      return {};
    }
    store_double(tensor.view(), static_cast<std::int64_t>(i), static_cast<double>(zero_points[i]));
  }
  return in.add_constant(std::move(tensor), "zero_point");
}

// The data of an argument that must be known at compile time.
std::shared_ptr<const Tensor> constant(NodeReader& in, std::string_view name) {
  const ValueId id = in.value(name);
  if (in.failed()) return nullptr;
  if (!in.fact(id).is_constant())
    in.unsupported("argument '" + std::string(name) + "'", "a tensor that is computed at run time", "a constant");
  return in.fact(id).constant;
}

Parameters read_per_channel(NodeReader& in, DType type) {
  const std::int64_t axis = in.integer("axis", 0);
  const auto scales = constant(in, "scales"), zero_points = constant(in, "zero_points");
  if (in.failed()) return {};
  if (scales->shape().rank() != 1 || zero_points->shape() != scales->shape()) {
    in.fail("argument 'scales'", scales->shape().to_string() + " with zero points " + zero_points->shape().to_string(),
            "lists of one length");
    return {};
  }
  return {add_scales(in, to_floats(scales->view()), scales->shape(), "scales"),
          add_zero_points(in, to_int64s(zero_points->view()), scales->shape(), type, "zero_points"), axis};
}

// One number, given as such or as a tensor.
Parameters read_per_tensor(NodeReader& in, DType type) {
  std::vector<float> scale;
  std::vector<std::int64_t> zero_point;
  if (in.is_tensor("scale")) {
    const auto given = constant(in, "scale");
    if (given) scale = to_floats(given->view());
  } else {
    scale = {static_cast<float>(in.number("scale", 0.0))};
  }
  if (in.is_tensor("zero_point")) {
    const auto given = constant(in, "zero_point");
    if (given) zero_point = to_int64s(given->view());
  } else {
    zero_point = {in.integer("zero_point")};
  }
  if (in.failed()) return {};
  if (scale.size() != 1 || zero_point.size() != 1) {
    in.fail("argument 'scale'",
            std::to_string(scale.size()) + " scales and " + std::to_string(zero_point.size()) + " zero points",
            "one of each");
    return {};
  }
  return {add_scales(in, scale, Shape{}, "scale"), add_zero_points(in, zero_point, Shape{}, type, "zero_point")};
}

Parameters read_parameters(NodeReader& in, DType type) {
  return in.has("scales") ? read_per_channel(in, type) : read_per_tensor(in, type);
}

std::int64_t bound(NodeReader& in, std::string_view name, std::int64_t fallback) {
  // The overloads "tensor2" hold the bounds in tensors too.
  if (!in.is_tensor(name)) return in.integer(name, fallback);
  const auto given = constant(in, name);
  const std::vector<std::int64_t> values = given ? to_int64s(given->view()) : std::vector<std::int64_t>{};
  if (!in.failed() && values.size() != 1)
    in.fail("argument '" + std::string(name) + "'", std::to_string(values.size()) + " numbers", "one");
  return values.size() == 1 ? values[0] : fallback;
}

DType read_type(NodeReader& in) {
  const DType type = in.element_type("dtype", DType::s8);
  const bool is_known = is_8bit(type) || type == DType::s16 || type == DType::u16 || type == DType::s32;
  if (!in.failed() && !is_known)
    in.unsupported("argument 'dtype'", std::string(name_of(type)), "integers of 8, 16 or 32 bits");
  return is_known ? type : DType::s8;
}

// The bounds, written as the whole type where they are that.
QuantizeAttrs quantize_attrs(NodeReader& in, DType type, std::int64_t axis, std::int64_t lowest, std::int64_t highest) {
  const IntegerRange range = range_of(type);
  QuantizeAttrs attrs{.to = type, .axis = axis, .profile = Profile::pt2e};
  if (lowest < range.lowest || highest > range.highest || lowest >= highest) {
    in.fail("argument 'quant_min'", std::to_string(lowest) + " to " + std::to_string(highest),
            "a range of " + std::string(name_of(type)));
    return attrs;
  }
  if (lowest == range.lowest && highest == range.highest) return attrs;
  attrs.lowest = static_cast<std::int32_t>(lowest);
  attrs.highest = static_cast<std::int32_t>(highest);
  return attrs;
}

ValueId add_quantize(NodeReader& in, ValueId x, const QuantizeAttrs& attrs, const Parameters& to) {
  if (in.failed()) return {};
  in.building().is_quantized = true;
  if (!in.fact(x).is_constant()) ++in.building().activation_types[attrs.to];
  return in.add(kQuantize, attrs, {x, to.scale, to.zero_point});
}

// ---- quantization in single operators ----

const Node* unary_of(NodeReader& in, ValueId wire, UnaryKind kind) {
  const Node* node = in.building().graph.producer_if(wire, kUnary);
  return node != nullptr && node->attrs.as<UnaryAttrs>().kind == kind ? node : nullptr;
}

// A wire that is (operand ∘ constant), the constant on either side where the operation allows it.
struct WithConstant {
  ValueId operand, constant;
};
std::optional<WithConstant> binary_of(NodeReader& in, ValueId wire, BinaryKind kind) {
  const Node* node = in.building().graph.producer_if(wire, kBinary);
  if (node == nullptr || node->attrs.as<BinaryAttrs>().kind != kind) return std::nullopt;
  const bool commutes = kind == BinaryKind::add || kind == BinaryKind::mul;
  if (in.fact(node->inputs[1]).is_constant()) return WithConstant{node->inputs[0], node->inputs[1]};
  if (commutes && in.fact(node->inputs[0]).is_constant()) return WithConstant{node->inputs[1], node->inputs[0]};
  return std::nullopt;
}

// The number that the program gave where it gave one: an f32 constant would have lost half of its digits.
std::optional<double> exact_scalar(NodeReader& in, ValueId constant) {
  const auto& exact = in.building().exact_numbers;
  if (const auto found = exact.find(constant.index); found != exact.end()) return found->second;
  if (in.shape(constant).elements() != 1) return std::nullopt;
  return element_as_double(in.fact(constant).constant->view(), 0);
}

ValueId through_casts(NodeReader& in, ValueId wire) {
  while (const Node* cast = in.building().graph.producer_if(wire, kCast)) {
    if (is_8bit(in.dtype(wire))) break;
    wire = cast->inputs[0];
  }
  return wire;
}

// The only axis along which a constant varies, in a tensor of this rank; -1: it is one number. Nothing where there are
// several.
std::optional<std::int64_t> axis_of(const Shape& shape, int rank) {
  std::int64_t axis = -1;
  if (shape.rank() > rank) return std::nullopt;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    if (axis >= 0) return std::nullopt;
    axis = i + rank - shape.rank();
  }
  return axis;
}

}  // namespace

void read_quantize(NodeReader& in) {
  const ValueId x = in.value("input");
  const DType type = read_type(in);
  const IntegerRange range = range_of(type);
  const std::int64_t lowest = bound(in, "quant_min", range.lowest), highest = bound(in, "quant_max", range.highest);
  const Parameters to = read_parameters(in, type);
  if (in.failed()) return;
  const std::int64_t axis = to.axis < 0 && !in.has("scales") ? -1 : in.axis("axis", to.axis, in.rank(x));
  in.output(0, add_quantize(in, x, quantize_attrs(in, type, axis, lowest, highest), to));
}

void read_dequantize(NodeReader& in) {
  const ValueId x = in.value("input");
  const DType type = read_type(in);
  bound(in, "quant_min", 0);
  bound(in, "quant_max", 0);
  if (in.element_type("out_dtype", DType::f32) != DType::f32)
    in.unsupported("argument 'out_dtype'", "another type", "FLOAT");
  if (in.failed()) return;
  if (in.dtype(x) != type) {
    return in.fail("argument 'dtype'",
                   std::string(name_of(type)) + " for a tensor of " + std::string(name_of(in.dtype(x))), "its type");
  }
  const Parameters from = read_parameters(in, type);
  if (in.failed()) return;
  in.building().is_quantized = true;
  const std::int64_t axis = from.axis < 0 && !in.has("scales") ? -1 : in.axis("axis", from.axis, in.rank(x));
  in.output(0, in.add(kDequantize, DequantizeAttrs{.to = DType::f32, .axis = axis}, {x, from.scale, from.zero_point}));
}

std::optional<ValueId> quantize_of_cast(NodeReader& in, ValueId clamped, DType to) {
  if (!is_8bit(to) || in.dtype(clamped) != DType::f32) return std::nullopt;
  const Node* clamp = unary_of(in, clamped, UnaryKind::clip);
  if (clamp == nullptr) return std::nullopt;
  const auto bounds = clamp->attrs.as<UnaryAttrs>();
  const IntegerRange range = range_of(to);
  const bool are_inside = bounds.alpha >= static_cast<float>(range.lowest) &&
                          bounds.beta <= static_cast<float>(range.highest) && bounds.alpha < bounds.beta &&
                          std::floor(bounds.alpha) == bounds.alpha && std::floor(bounds.beta) == bounds.beta;
  const auto shifted = binary_of(in, clamp->inputs[0], BinaryKind::add);
  const auto zero_point = shifted ? exact_scalar(in, shifted->constant) : 0.0;
  const Node* round = unary_of(in, shifted ? shifted->operand : clamp->inputs[0], UnaryKind::round);
  if (!are_inside || !zero_point || round == nullptr) return std::nullopt;
  const auto product = binary_of(in, round->inputs[0], BinaryKind::mul);
  const auto inverse = product ? exact_scalar(in, product->constant) : std::nullopt;
  const float scale = inverse ? static_cast<float>(1.0 / *inverse) : 0.0f;
  const bool is_whole = *zero_point == std::floor(*zero_point) && *zero_point >= static_cast<double>(range.lowest) &&
                        *zero_point <= static_cast<double>(range.highest);
  if (!is_usable(scale) || !is_whole) return std::nullopt;
  const ValueId x = product->operand;
  const Parameters parameters{add_scales(in, {scale}, Shape{}, "scale"),
                              add_zero_points(in, {static_cast<std::int64_t>(*zero_point)}, Shape{}, to, "zero_point")};
  const auto attrs =
      quantize_attrs(in, to, -1, static_cast<std::int64_t>(bounds.alpha), static_cast<std::int64_t>(bounds.beta));
  return add_quantize(in, x, attrs, parameters);
}

std::optional<ValueId> dequantize_of_product(NodeReader& in, ValueId difference, ValueId scale) {
  if (in.failed()) return std::nullopt;
  if (in.fact(difference).is_constant()) std::swap(difference, scale);
  if (!in.fact(scale).is_constant() || !is_float(in.dtype(scale)) || in.dtype(difference) != DType::f32)
    return std::nullopt;
  const auto centred = binary_of(in, through_casts(in, difference), BinaryKind::sub);
  const ValueId q = through_casts(in, centred ? centred->operand : difference);
  if (!is_8bit(in.dtype(q))) return std::nullopt;
  const int rank = in.rank(q);
  const auto axis = axis_of(in.shape(scale), rank);
  std::vector<std::int64_t> zero_points{0};
  std::optional<std::int64_t> zero_axis = -1;
  if (centred) {
    zero_points = to_int64s(in.fact(centred->constant).constant->view());
    zero_axis = axis_of(in.shape(centred->constant), rank);
  }
  const std::vector<float> scales = to_floats(in.fact(scale).constant->view());
  const bool fit =
      axis && zero_axis && (*zero_axis < 0 || *zero_axis == *axis) && !scales.empty() && !zero_points.empty();
  if (!fit || (*axis >= 0 && static_cast<std::int64_t>(scales.size()) != in.shape(q)[static_cast<int>(*axis)]))
    return std::nullopt;
  zero_points.resize(scales.size(), zero_points[0]);
  const IntegerRange range = range_of(in.dtype(q));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!is_usable(scales[i]) || zero_points[i] < range.lowest || zero_points[i] > range.highest) return std::nullopt;
  }
  const Shape shape = *axis < 0 ? Shape{} : Shape{static_cast<std::int64_t>(scales.size())};
  const ValueId inputs[] = {q, add_scales(in, scales, shape, "scale"),
                            add_zero_points(in, zero_points, shape, in.dtype(q), "zero_point")};
  return in.add(kDequantize, DequantizeAttrs{.to = DType::f32, .axis = *axis}, {inputs[0], inputs[1], inputs[2]});
}

}  // namespace octavo::pt2_import
