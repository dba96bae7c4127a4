// Operators that only move or select elements. Part of lower/.
#include "lower/rules/structure_on_integers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/concat/concat.h"
#include "ops/dequantize/dequantize.h"
#include "ops/expand/expand.h"
#include "ops/pad/pad.h"
#include "ops/quantize/quantize.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

Elements elements_of(const Node& node) { return elements_of(*node.spec, node.attrs); }

// Commutes with every strictly increasing function of an element.
bool commutes_with_increasing(const Node& node) {
  return elements_of(node) == Elements::moved || elements_of(node) == Elements::selected;
}

Tensor integer_scalar(DType dtype, std::int32_t value) {
  Tensor tensor(dtype, Shape{});
  store_double(tensor.view(), 0, value);
  return tensor;
}

// The value that padding adds, as f32; nothing where it is not constant.
std::optional<float> pad_value(const Graph& graph, const Node& pad) {
  if (pad.inputs.size() < 2 || !pad.inputs[1].exists()) return 0.0f;
  return scalar_constant(graph, pad.inputs[1]);
}

// dequantize(op(q)) with the parameters of the dequantize before.
Match move_before(const Graph& graph, const Node& node, const Node& dequantize, Attrs dequantize_attrs,
                  std::vector<ValueId> rest) {
  Patch patch(graph);
  std::vector<ValueId> inputs = {dequantize.inputs[0]};
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  const ValueId moved = patch.add(*node.spec, node.attrs, std::move(inputs), node.name, node.origin);
  if (graph.fact(dequantize.inputs[0]).quant && dequantize_attrs.as<DequantizeAttrs>().axis < 0)
    patch.set_quant(moved, *graph.fact(dequantize.inputs[0]).quant);
  std::vector<ValueId> outer = dequantize.inputs;
  outer[0] = moved;
  patch.replace(node.outputs[0], patch.add(kDequantize, std::move(dequantize_attrs), std::move(outer), dequantize.name,
                                           dequantize.origin));
  return patch;
}

std::vector<ValueId> rest_of(const Node& node) { return {node.inputs.begin() + 1, node.inputs.end()}; }

Match pad_before(const Graph& graph, const Node& node, const Node& dequantize, const QuantType& type) {
  const auto value = pad_value(graph, node);
  if (!value) return std::string("the value it pads with is not constant");
  const IntegerRange range = range_of(type.dtype);
  const double q = std::nearbyint(static_cast<double>(*value) / type.scale) + type.zero_point;
  const bool is_exact = q >= static_cast<double>(range.lowest) && q <= static_cast<double>(range.highest) &&
                        dequantize_value(static_cast<std::int32_t>(q), type.scale, type.zero_point) == *value;
  if (!is_exact) return std::string("the value it pads with is none of the quantized ones");
  Patch patch(graph);
  const ValueId padding =
      patch.constant(node.name + "/value", integer_scalar(type.dtype, static_cast<std::int32_t>(q)));
  const ValueId moved = patch.add(kPad, node.attrs, {dequantize.inputs[0], padding}, node.name, node.origin);
  patch.set_quant(moved, type.params());
  std::vector<ValueId> outer = dequantize.inputs;
  outer[0] = moved;
  patch.replace(node.outputs[0],
                patch.add(kDequantize, dequantize.attrs, std::move(outer), dequantize.name, dequantize.origin));
  return patch;
}

Match concat_before(const Graph& graph, const Node& node) {
  std::vector<ValueId> integers;
  std::optional<QuantType> type;
  for (ValueId input : node.inputs) {
    const auto part = dequantized(graph, input, Stored::bytes_or_s16);
    if (!part) return std::string("not all of its inputs are quantized");
    if (type && part->type != *type) return std::string("its inputs have different scales");
    type = part->type;
    integers.push_back(part->q);
  }
  const Node& dequantize = *graph.producer(node.inputs[0]);
  Patch patch(graph);
  const ValueId joined = patch.add(kConcat, node.attrs, std::move(integers), node.name, node.origin);
  patch.set_quant(joined, type->params());
  std::vector<ValueId> outer = dequantize.inputs;
  outer[0] = joined;
  patch.replace(node.outputs[0],
                patch.add(kDequantize, dequantize.attrs, std::move(outer), dequantize.name, dequantize.origin));
  return patch;
}

// Weights: transposes and reshapes of dequantize(constant) with scales per axis.
Match constant_before(const Graph& graph, const Node& node, const Node& dequantize) {
  auto attrs = dequantize.attrs.as<DequantizeAttrs>();
  if (attrs.block != 0) return std::string();
  const auto* transpose = node.attrs.get_if<TransposeAttrs>();
  if (attrs.axis >= 0 && transpose != nullptr) {
    const auto& perm = transpose->perm;
    attrs.axis = std::find(perm.begin(), perm.end(), attrs.axis) - perm.begin();
  } else if (attrs.axis >= 0) {
    const OpenShape& before = graph.fact(node.inputs[0]).shape;
    const OpenShape& after = graph.fact(node.outputs[0]).shape;
    if (!node.spec->is_view || attrs.axis != 0 || after.rank() == 0 || after[0] != before[0]) return std::string();
  } else if (elements_of(node) != Elements::moved) {
    return std::string();
  }
  return move_before(graph, node, dequantize, attrs, rest_of(node));
}

}  // namespace

Match structure_before_dequantize(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || !node.inputs[0].exists()) return std::string();
  const Elements elements = elements_of(node);
  if (elements == Elements::joined) return concat_before(graph, node);
  if (elements == Elements::computed || elements == Elements::converted) return std::string();
  const Node* dequantize = graph.producer_if(node.inputs[0], kDequantize);
  if (dequantize == nullptr) return std::string();
  if (graph.fact(dequantize->inputs[0]).is_constant()) return constant_before(graph, node, *dequantize);
  const bool picks = elements == Elements::ranked || elements == Elements::selected;
  const auto x = dequantized_by(graph, *dequantize, picks ? Stored::bytes : Stored::bytes_or_s16);
  if (!x) return std::string();
  if (elements == Elements::padded) return pad_before(graph, node, *dequantize, x->type);
  if (elements != Elements::ranked) return move_before(graph, node, *dequantize, dequantize->attrs, rest_of(node));
  Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(*node.spec, node.attrs, {x->q}, node.name, node.origin));
  return patch;
}

Match structure_after_quantize(const Graph& graph, const Node& node) {
  const bool is_quantize = node.attrs.is<QuantizeAttrs>();
  if (!is_quantize && !node.attrs.is<UnaryAttrs>()) return std::string();
  const Node* moved = graph.producer(node.inputs[0]);
  if (moved == nullptr || moved->inputs.empty() || !graph.has_one_reader(node.inputs[0])) return std::string();
  const bool pads = elements_of(*moved) == Elements::padded;
  if (is_quantize) {
    const bool picks = elements_of(*moved) == Elements::selected;
    if (!quantized_by(graph, node, picks ? Stored::bytes : Stored::bytes_or_s16) ||
        !(commutes_with_increasing(*moved) || pads))
      return std::string();
  } else if (elements_of(*moved) != Elements::moved || moved->attrs.is<ExpandAttrs>()) {
    return std::string();
  }
  Patch patch(graph);
  std::vector<ValueId> inner = node.inputs;
  inner[0] = moved->inputs[0];
  const ValueId first = patch.add(*node.spec, node.attrs, std::move(inner), node.name, node.origin);
  std::vector<ValueId> inputs = {first};
  if (pads) {
    const auto value = pad_value(graph, *moved);
    if (!value) return std::string();
    const auto end = quantized_by(graph, node, Stored::bytes_or_s16);
    inputs.push_back(patch.constant(moved->name + "/value", integer_scalar(end->type.dtype, end->apply(*value))));
  } else {
    inputs.insert(inputs.end(), moved->inputs.begin() + 1, moved->inputs.end());
  }
  if (graph.fact(node.outputs[0]).quant) patch.set_quant(first, *graph.fact(node.outputs[0]).quant);
  patch.replace(node.outputs[0], patch.add(*moved->spec, moved->attrs, std::move(inputs), moved->name, moved->origin));
  return patch;
}

Match structure_after_dequantize(const Graph& graph, const Node& node) {
  const auto* attrs = node.attrs.get_if<DequantizeAttrs>();
  const Node* moved = attrs == nullptr ? nullptr : graph.producer(node.inputs[0]);
  if (moved == nullptr || attrs->axis >= 0 || attrs->block != 0) return std::string();
  // Moving an operator that others read as well would double it, and everything before it in turn.
  if (!graph.has_one_reader(node.inputs[0])) return std::string("the operator before it has several readers");
  const bool is_concat = elements_of(*moved) == Elements::joined;
  if (!is_concat && !commutes_with_increasing(*moved)) return std::string();
  Patch patch(graph);
  std::vector<ValueId> inputs = moved->inputs;
  std::map<int, ValueId> dequantized_inputs;  // a value that is concatenated with itself is dequantized once
  for (std::size_t i = 0; i < (is_concat ? inputs.size() : 1); ++i) {
    const auto [known, is_new] = dequantized_inputs.try_emplace(inputs[i].index, ValueId{});
    if (is_new) {
      std::vector<ValueId> inner = node.inputs;
      inner[0] = inputs[i];
      known->second = patch.add(kDequantize, *attrs, std::move(inner), node.name, node.origin);
    }
    inputs[i] = known->second;
  }
  patch.replace(node.outputs[0], patch.add(*moved->spec, moved->attrs, std::move(inputs), moved->name, moved->origin));
  return patch;
}

}  // namespace octavo
