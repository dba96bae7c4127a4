// Reading dequantize and quantize nodes. Part of lower/.
#include "lower/quantized_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dequantize/dequantize.h"
#include "ops/epilogue.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

bool is_usable_scale(float scale) { return std::isnormal(scale) && scale > 0.0f; }

// The input's constant as a list, or nothing where it is computed at run time.
std::optional<std::vector<float>> constant_scales(const Graph& graph, const Node& node) {
  const Fact& fact = graph.fact(node.inputs[1]);
  if (!fact.is_constant()) return std::nullopt;
  std::vector<float> scales = to_floats(fact.constant->view());
  if (!std::all_of(scales.begin(), scales.end(), is_usable_scale)) return std::nullopt;
  return scales;
}

// As many zero points as scales; zeros where the input is left out.
std::optional<std::vector<std::int32_t>> constant_zero_points(const Graph& graph, const Node& node, std::size_t count) {
  if (node.inputs.size() < 3 || !node.inputs[2].exists()) return std::vector<std::int32_t>(count, 0);
  const Fact& fact = graph.fact(node.inputs[2]);
  if (!fact.is_constant()) return std::nullopt;
  std::vector<std::int32_t> zero_points;
  for (std::int64_t value : to_int64s(fact.constant->view())) zero_points.push_back(static_cast<std::int32_t>(value));
  if (zero_points.size() == 1 && count != 1) zero_points.resize(count, zero_points[0]);
  if (zero_points.size() != count) return std::nullopt;
  return zero_points;
}

bool is_taken(DType dtype, Stored stored) {
  return is_8bit(dtype) || (stored == Stored::bytes_or_s16 && dtype == DType::s16);
}

// Scale and zero point of a quantize or dequantize node that has one of each.
std::optional<QuantType> whole_tensor_type(const Graph& graph, const Node& node, DType dtype, std::int64_t block,
                                           Stored stored) {
  if (!is_taken(dtype, stored) || block != 0) return std::nullopt;
  const auto scales = constant_scales(graph, node);
  if (!scales || scales->size() != 1) return std::nullopt;
  const auto zero_points = constant_zero_points(graph, node, 1);
  if (!zero_points) return std::nullopt;
  return QuantType{dtype, scales->front(), zero_points->front()};
}

}  // namespace

std::optional<Dequantized> dequantized_by(const Graph& graph, const Node& node, Stored stored) {
  if (node.spec != &kDequantize) return std::nullopt;
  const auto& attrs = node.attrs.as<DequantizeAttrs>();
  const Fact& x = graph.fact(node.inputs[0]);
  if (attrs.to != DType::f32 || x.is_constant()) return std::nullopt;
  const auto type = whole_tensor_type(graph, node, x.dtype, attrs.block, stored);
  if (!type) return std::nullopt;
  return Dequantized{node.inputs[0], *type};
}

std::optional<Dequantized> dequantized(const Graph& graph, ValueId wire, Stored stored) {
  const Node* node = graph.producer_if(wire, kDequantize);
  return node == nullptr ? std::nullopt : dequantized_by(graph, *node, stored);
}

std::optional<RunDequantized> dequantized_in_run(const Graph& graph, ValueId wire) {
  while (const Node* shown = graph.producer_if(wire, kReshape)) wire = shown->inputs[0];
  const Node* node = graph.producer_if(wire, kDequantize);
  if (node == nullptr || node->inputs.size() < 3 || !node->inputs[2].exists()) return std::nullopt;
  const auto& attrs = node->attrs.as<DequantizeAttrs>();
  const RunDequantized found{node->inputs[0], node->inputs[1], node->inputs[2]};
  const Fact &q = graph.fact(found.q), &scale = graph.fact(found.scale);
  const bool is_in_rows = attrs.axis == 0 ? q.shape.rank() == 2 : attrs.axis < 0;
  if (attrs.to != DType::f32 || attrs.block != 0 || q.dtype != DType::u8 || !is_in_rows || scale.is_constant())
    return std::nullopt;
  return found;
}

std::optional<QuantizedConstant> quantized_constant(const Graph& graph, ValueId wire) {
  const Node* node = graph.producer_if(wire, kDequantize);
  if (node == nullptr) return std::nullopt;
  const auto& attrs = node->attrs.as<DequantizeAttrs>();
  const Fact& x = graph.fact(node->inputs[0]);
  const bool is_known_type =
      is_8bit(x.dtype) || x.dtype == DType::s16 || x.dtype == DType::s32 || x.dtype == DType::s64;
  if (attrs.to != DType::f32 || attrs.block != 0 || !x.is_constant() || !is_known_type) return std::nullopt;
  auto scales = constant_scales(graph, *node);
  if (!scales || scales->empty()) return std::nullopt;
  auto zero_points = constant_zero_points(graph, *node, scales->size());
  if (!zero_points) return std::nullopt;
  const int axis = scales->size() == 1 ? -1 : static_cast<int>(attrs.axis);
  return QuantizedConstant{x.constant, std::move(*scales), std::move(*zero_points), axis};
}

std::optional<Dequantized> quantized_operand(const Graph& graph, ValueId wire, Stored stored) {
  if (auto found = dequantized(graph, wire, stored)) return found;
  const auto constant = quantized_constant(graph, wire);
  if (!constant || constant->scale.size() != 1 || !is_taken(constant->q->dtype(), stored)) return std::nullopt;
  return Dequantized{graph.producer(wire)->inputs[0],
                     {constant->q->dtype(), constant->scale[0], constant->zero_point[0]}};
}

Round Quantized::rounding() const { return {.after = type.zero_point, .lowest = lowest, .highest = highest}; }

std::int32_t Quantized::apply(float value) const {
  if (profile == Profile::pt2e)
    return round_then_zero_point(value * (1.0f / type.scale), type.zero_point, lowest, highest);
  if (rounds_away(profile)) return quantize_value_away(value, type.scale, type.zero_point, lowest, highest);
  return quantize_value(value, type.scale, type.zero_point, lowest, highest);
}

std::optional<Quantized> quantized_by(const Graph& graph, const Node& node, Stored stored) {
  if (node.spec != &kQuantize) return std::nullopt;
  const auto& attrs = node.attrs.as<QuantizeAttrs>();
  if (graph.fact(node.inputs[0]).dtype != DType::f32) return std::nullopt;
  const auto type = whole_tensor_type(graph, node, attrs.to, attrs.block, stored);
  if (!type) return std::nullopt;
  const bool is_whole_range = attrs.lowest == 0 && attrs.highest == 0;
  const IntegerRange range = range_of(attrs.to);
  return Quantized{.x = node.inputs[0],
                   .y = node.outputs[0],
                   .type = *type,
                   .lowest = is_whole_range ? static_cast<std::int32_t>(range.lowest) : attrs.lowest,
                   .highest = is_whole_range ? static_cast<std::int32_t>(range.highest) : attrs.highest,
                   .profile = attrs.profile};
}

std::optional<ClampBounds> clamp_bounds(const Node& node) {
  if (node.spec != &kUnary) return std::nullopt;
  const auto& attrs = node.attrs.as<UnaryAttrs>();
  if (attrs.kind == UnaryKind::relu) return ClampBounds{0.0f, std::numeric_limits<float>::infinity()};
  if (attrs.kind == UnaryKind::clip) return ClampBounds{attrs.alpha, attrs.beta};
  return std::nullopt;
}

std::variant<Quantized, std::string> follow_to_quantize(const Graph& graph, ValueId result, Stored stored) {
  std::vector<ClampBounds> clamps;
  ValueId wire = result;
  while (true) {
    const Node* reader = only_reader(graph, wire);
    if (reader == nullptr)
      return std::string(graph.is_output(wire) ? "its f32 result is an output of the graph"
                                               : "its f32 result has several readers");
    if (const auto bounds = clamp_bounds(*reader)) {
      clamps.push_back(*bounds);
      wire = reader->outputs[0];
      continue;
    }
    if (reader->spec != &kQuantize)
      return "its result goes to '" + reader->name + "' (" + std::string(reader->spec->name) +
             ") without being quantized";
    auto end = quantized_by(graph, *reader, stored);
    if (!end)
      return std::string("its result is quantized with scales per axis, computed at run time, or to more than 8 bits");
    // Quantization is monotone, so a clamp before it is a clamp after it.
    for (const ClampBounds& bounds : clamps) {
      const std::int32_t low = end->apply(bounds.lowest);
      const std::int32_t high = end->apply(bounds.highest);
      end->lowest = std::min(std::max(end->lowest, low), high);
      end->highest = std::min(std::max(end->highest, low), high);
    }
    return *end;
  }
}

std::optional<float> scalar_constant(const Graph& graph, ValueId wire) {
  if (!wire.exists()) return std::nullopt;
  const Fact& fact = graph.fact(wire);
  if (!is_one(fact.shape.elements())) return std::nullopt;
  if (fact.is_constant()) return static_cast<float>(element_as_double(fact.constant->view(), 0));
  const auto quantized = quantized_constant(graph, wire);
  if (!quantized) return std::nullopt;
  const auto q = static_cast<std::int32_t>(element_as_double(quantized->q->view(), 0));
  return dequantize_value(q, quantized->scale[0], quantized->zero_point[0]);
}

std::optional<std::vector<float>> per_channel_constant(const Fact& constant, int rank, int axis,
                                                       std::int64_t channels) {
  if (!constant.is_constant() || constant.dtype != DType::f32 || constant.shape.rank() > rank) return std::nullopt;
  std::vector<float> values = to_floats(constant.constant->view());
  if (values.size() == 1) return std::vector<float>(static_cast<std::size_t>(channels), values[0]);
  const int own_axis = axis - (rank - constant.shape.rank());
  if (own_axis < 0 || constant.shape[own_axis] != channels || constant.shape.elements() != channels)
    return std::nullopt;
  return values;
}

const Node* only_reader(const Graph& graph, ValueId wire) {
  if (!graph.has_one_reader(wire)) return nullptr;
  return &graph.node(graph.readers(wire).front());
}

}  // namespace octavo
