// ATen readers: quantize and dequantize nodes of pt2e, as operators of their own and written out in single operators.
// Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "ops/cast/cast.h"

namespace octavo::pt2_import {
namespace {

// ---- operators of their own ----

Scales read_per_channel(NodeReader& in, ValueId x, DType type) {
  const Number axis = in.integer("axis", 0);
  const auto scales = in.constant_of("scales"), zero_points = in.constant_of("zero_points");
  if (in.failed()) return {};
  if (scales->shape().rank() != 1 || zero_points->shape() != scales->shape()) {
    in.fail("argument 'scales'", scales->shape().to_string() + " with zero points " + zero_points->shape().to_string(),
            "lists of one length");
    return {};
  }
  return constant_scales(in, to_floats(scales->view()), to_int64s(zero_points->view()), type, in.axis(axis, in.rank(x)),
                         "argument 'scales'");
}

// One integer, given as such or as a tensor.
std::int64_t read_integer(NodeReader& in, std::string_view name, std::optional<std::int64_t> fallback = std::nullopt) {
  if (!in.is_tensor(name)) return fallback ? in.integer(name, *fallback) : in.integer(name);
  const auto given = in.constant_of(name);
  if (given != nullptr && given->elements() == 1) return to_int64s(given->view())[0];
  if (given != nullptr) in.fail(quoted("argument", name), std::to_string(given->elements()) + " numbers", "one");
  return fallback.value_or(0);
}

Scales read_per_tensor(NodeReader& in, DType type) {
  std::vector<float> scale;
  if (!in.is_tensor("scale")) scale = {in.real("scale", 0.0f)};
  else if (const auto given = in.constant_of("scale")) scale = to_floats(given->view());
  const std::int64_t zero_point = read_integer(in, "zero_point");
  if (!in.failed() && scale.size() != 1) in.fail("argument 'scale'", std::to_string(scale.size()) + " scales", "one");
  return in.failed() ? Scales{} : constant_scales(in, scale, {zero_point}, type, -1, "argument 'scale'");
}

Scales read_scales(NodeReader& in, ValueId x, DType type) {
  in.building().is_quantized = true;
  return in.has("scales") ? read_per_channel(in, x, type) : read_per_tensor(in, type);
}

DType read_type(NodeReader& in, std::string_view name = "dtype") {
  const DType type = in.element_type(name, DType::s8);
  if (is_8bit(type) || type == DType::s16 || type == DType::u16 || type == DType::s32 || in.failed()) return type;
  in.unsupported(quoted("argument", name), std::string(octavo::name_of(type)), "integers of 8, 16 or 32 bits");
  return DType::s8;
}

// With bounds, which are written as none where they are the whole type.
ValueId quantize_within(NodeReader& in, ValueId x, const Scales& to, DType type, IntegerRange bounds) {
  const IntegerRange range = range_of(type);
  if (bounds.lowest < range.lowest || bounds.highest > range.highest || bounds.lowest >= bounds.highest)
    return in.fail("argument 'quant_min'", std::to_string(bounds.lowest) + " to " + std::to_string(bounds.highest),
                   "a range of " + std::string(octavo::name_of(type)));
  in.building().is_quantized = true;
  const bool is_whole = bounds.lowest == range.lowest && bounds.highest == range.highest;
  return quantize(in, x, to, type, {}, is_whole ? std::nullopt : std::optional(bounds));
}

bool is_computed(NodeReader& in, std::string_view scale) {
  return in.is_tensor(scale) && !in.is_constant(in.value(scale)) && !in.failed();
}

ValueId read_quantize(NodeReader& in) {
  if (is_computed(in, "scale")) return quantize_in_run(in);
  const ValueId x = in.value("input");
  const DType type = read_type(in);
  const IntegerRange range = range_of(type);
  const std::int64_t lowest = read_integer(in, "quant_min", range.lowest);
  const std::int64_t highest = read_integer(in, "quant_max", range.highest);
  const Scales to = read_scales(in, x, type);
  return in.failed() ? ValueId{} : quantize_within(in, x, to, type, {lowest, highest});
}

ValueId read_dequantize(NodeReader& in) {
  if (is_computed(in, "scale")) return dequantize_in_run(in);
  const ValueId x = in.value("input");
  const DType type = read_type(in);
  read_integer(in, "quant_min", 0);
  read_integer(in, "quant_max", 0);
  if (in.element_type("out_dtype", DType::f32) != DType::f32)
    in.unsupported("argument 'out_dtype'", "another type", "FLOAT");
  if (in.failed()) return {};
  if (in.dtype(x) != type)
    return in.fail("argument 'dtype'",
                   std::string(octavo::name_of(type)) + " for a tensor of " + std::string(octavo::name_of(in.dtype(x))),
                   "its type");
  return dequantize(in, x, read_scales(in, x, type));
}

// ---- torchao's, with a scale for each block of a tensor ----

// The axis along which blocks are smaller than the tensor, and their size: 1, or, where every index of the other axes
// has blocks of its own, more. Axis -1: one block. Nothing where it is neither.
struct Blocks {
  std::int64_t axis = -1, size = 0;
};
std::optional<Blocks> blocks_of(NodeReader& in, ValueId x) {
  const Numbers sizes = in.integers("block_size");
  if (in.failed() || sizes.size() != static_cast<std::size_t>(in.rank(x))) return std::nullopt;
  std::vector<std::int64_t> single, cut;
  for (int i = 0; i < in.rank(x); ++i) {
    const Dim& size = sizes[static_cast<std::size_t>(i)];
    if (is_same(size, in.shape(x)[i])) continue;
    (is_one(size) ? single : cut).push_back(i);
  }
  if (cut.empty() && single.size() <= 1) return single.empty() ? Blocks{} : Blocks{single[0], 1};
  if (cut.size() != 1 || single.size() + 1 != sizes.size() || !in.is_constant(x)) return std::nullopt;
  return Blocks{cut[0], sizes[static_cast<std::size_t>(cut[0])].fixed()};
}

Scales read_blocks(NodeReader& in, ValueId x, DType type) {
  const auto scales = in.constant_of("scale");
  const auto zeros = in.has("zero_point") ? in.constant_of("zero_point") : nullptr;
  in.ignore("zero_point");
  const auto blocks = blocks_of(in, x);
  if (!blocks && !in.failed())
    in.unsupported("argument 'block_size'", "another block",
                   "one for all, along one axis, or of one axis of a constant");
  if (in.failed()) return {};
  in.building().is_quantized = true;
  Integers zero_points(static_cast<std::size_t>(scales->elements()), 0);
  if (zeros != nullptr) zero_points = to_int64s(zeros->view());
  if (blocks->size <= 1)
    return constant_scales(in, to_floats(scales->view()), zero_points, type, blocks->axis, "argument 'scale'");
  const ValueId scale = in.value("scale");
  Tensor none(type, scales->shape());
  const ValueId zero = zeros == nullptr ? in.constant(std::move(none), "zero_points") : in.value("zero_point");
  return {in.cast(scale, DType::f32, "scales"), in.cast(zero, type, "zero_points"), blocks->axis, blocks->size};
}

IntegerRange read_bounds(NodeReader& in, DType type) {
  const IntegerRange range = range_of(type);
  return {in.integer("quant_min", range.lowest), in.integer("quant_max", range.highest)};
}

ValueId read_quantize_affine(NodeReader& in) {
  if (is_computed(in, "scale")) return quantize_blocks_in_run(in);
  const ValueId x = in.value("input");
  const DType type = read_type(in, "output_dtype");
  const IntegerRange bounds = read_bounds(in, type);
  const Scales to = read_blocks(in, x, type);
  return in.failed() ? ValueId{} : quantize_within(in, x, to, type, bounds);
}

ValueId read_dequantize_affine(NodeReader& in) {
  if (is_computed(in, "scale")) return dequantize_blocks_in_run(in);
  const ValueId x = in.value("input");
  const DType type = read_type(in, "input_dtype");
  read_bounds(in, type);
  if (in.element_type("output_dtype", DType::f32) != DType::f32)
    in.unsupported("argument 'output_dtype'", "another type", "FLOAT");
  if (in.failed()) return {};
  const Scales from = read_blocks(in, x, type);
  return in.failed() ? ValueId{} : dequantize(in, x, from);
}

// ---- quantization in single operators ----

const Node* unary_of(NodeReader& in, ValueId wire, UnaryKind kind) {
  const Node* node = in.built().graph.producer_if(wire, kUnary);
  return node != nullptr && node->attrs.as<UnaryAttrs>().kind == kind ? node : nullptr;
}

// A wire that is (operand ∘ constant), the constant on either side where the operation allows it.
struct WithConstant {
  ValueId operand, constant;
};
std::optional<WithConstant> quantization_binary_of(NodeReader& in, ValueId wire, BinaryKind kind) {
  const Node* node = in.built().graph.producer_if(wire, kBinary);
  if (node == nullptr || node->attrs.as<BinaryAttrs>().kind != kind) return std::nullopt;
  const bool commutes = kind == BinaryKind::add || kind == BinaryKind::mul;
  if (in.is_constant(node->inputs[1])) return WithConstant{node->inputs[0], node->inputs[1]};
  if (commutes && in.is_constant(node->inputs[0])) return WithConstant{node->inputs[1], node->inputs[0]};
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
  while (const Node* cast = in.built().graph.producer_if(wire, kCast)) {
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

bool is_inside(double number, IntegerRange range) {
  return number == std::floor(number) && number >= static_cast<double>(range.lowest) &&
         number <= static_cast<double>(range.highest);
}

constexpr Operator kQuantizationTable[] = {
    {"quantized_decomposed.dequantize_per_channel", "default", kFresh, read_dequantize},
    {"quantized_decomposed.dequantize_per_tensor", "default tensor tensor2", kFresh, read_dequantize},
    {"quantized_decomposed.quantize_per_channel", "default", kFresh, read_quantize},
    {"quantized_decomposed.quantize_per_tensor", "default tensor tensor2", kFresh, read_quantize},
    {"torchao.dequantize_affine", "default", kFresh, read_dequantize_affine},
    {"torchao.quantize_affine", "default", kFresh, read_quantize_affine},
};

}  // namespace

const std::span<const Operator> kQuantized = kQuantizationTable;

std::optional<ValueId> quantize_of_cast(NodeReader& in, ValueId clamped, DType to) {
  if (!is_8bit(to) || in.dtype(clamped) != DType::f32) return std::nullopt;
  const Node* clamp = unary_of(in, clamped, UnaryKind::clip);
  if (clamp == nullptr) return std::nullopt;
  const auto bounds = clamp->attrs.as<UnaryAttrs>();
  const IntegerRange range = range_of(to);
  const bool are_inside = is_inside(bounds.alpha, range) && is_inside(bounds.beta, range) && bounds.alpha < bounds.beta;
  const auto shifted = quantization_binary_of(in, clamp->inputs[0], BinaryKind::add);
  const auto zero_point = shifted ? exact_scalar(in, shifted->constant) : 0.0;
  const Node* round = unary_of(in, shifted ? shifted->operand : clamp->inputs[0], UnaryKind::round);
  if (!are_inside || !zero_point || round == nullptr) return std::nullopt;
  const auto product = quantization_binary_of(in, round->inputs[0], BinaryKind::mul);
  const auto inverse = product ? exact_scalar(in, product->constant) : std::nullopt;
  const float scale = inverse ? static_cast<float>(1.0 / *inverse) : 0.0f;
  if (!is_scale(scale) || !is_inside(*zero_point, range)) return std::nullopt;
  const ValueId x = product->operand;
  const Scales scales =
      constant_scales(in, {scale}, {static_cast<std::int64_t>(*zero_point)}, to, -1, "argument 'scale'");
  return quantize_within(in, x, scales, to,
                         {static_cast<std::int64_t>(bounds.alpha), static_cast<std::int64_t>(bounds.beta)});
}

std::optional<ValueId> dequantize_of_product(NodeReader& in, ValueId difference, ValueId scale) {
  if (in.failed()) return std::nullopt;
  if (in.is_constant(difference)) std::swap(difference, scale);
  if (!in.is_constant(scale) || !is_float(in.dtype(scale)) || in.dtype(difference) != DType::f32) return std::nullopt;
  const auto centred = quantization_binary_of(in, through_casts(in, difference), BinaryKind::sub);
  const ValueId q = through_casts(in, centred ? centred->operand : difference);
  if (!is_8bit(in.dtype(q))) return std::nullopt;
  const auto axis = axis_of(in.shape(scale), in.rank(q));
  Integers zero_points{0};
  std::optional<std::int64_t> zero_axis = -1;
  if (centred) {
    zero_points = to_int64s(in.fact(centred->constant).constant->view());
    zero_axis = axis_of(in.shape(centred->constant), in.rank(q));
  }
  const std::vector<float> scales = to_floats(in.fact(scale).constant->view());
  const bool fit =
      axis && zero_axis && (*zero_axis < 0 || *zero_axis == *axis) && !scales.empty() && !zero_points.empty();
  if (!fit || (*axis >= 0 && static_cast<std::int64_t>(scales.size()) != in.shape(q)[static_cast<int>(*axis)]))
    return std::nullopt;
  zero_points.resize(scales.size(), zero_points[0]);
  const IntegerRange range = range_of(in.dtype(q));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!is_scale(scales[i]) || zero_points[i] < range.lowest || zero_points[i] > range.highest) return std::nullopt;
  }
  return dequantize(in, q, constant_scales(in, scales, zero_points, in.dtype(q), *axis, "argument 'other'"));
}

}  // namespace octavo::pt2_import
