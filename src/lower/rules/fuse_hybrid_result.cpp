// hybrid_conv takes in what rounds its result. Part of lower/.
#include "lower/rules/fuse_hybrid_result.h"

#include <optional>

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/hybrid_conv/hybrid_conv.h"

namespace octavo {
namespace {

// An addition of a dequantized value of the same shape that alone reads the result.
struct HybridResidue {
  ValueId sum;
  Dequantized other;
};
std::optional<HybridResidue> hybrid_residue_of(const Graph& graph, ValueId result) {
  const Node* add = only_reader(graph, result);
  if (add == nullptr || !is_binary(add->attrs, BinaryKind::add) || add->inputs[0] == add->inputs[1])
    return std::nullopt;
  const auto other = dequantized(graph, add->inputs[add->inputs[0] == result ? 1 : 0], Stored::bytes_or_s16);
  if (!other || graph.fact(other->q).shape != graph.fact(result).shape) return std::nullopt;
  return HybridResidue{add->outputs[0], *other};
}

// A constant per channel in units of y_scale.
std::optional<Tensor> hybrid_in_units(const Graph& graph, ValueId constant, float y_scale) {
  const Fact& fact = graph.fact(constant);
  if (!fact.is_constant()) return std::nullopt;
  Tensor tensor = Tensor::copy_of(fact.constant->view());
  for (float& value : tensor.span<float>())
    value = static_cast<float>(static_cast<double>(value) / static_cast<double>(y_scale));
  return tensor;
}

}  // namespace

Match fuse_hybrid_result(const Graph& graph, const Node& node) {
  const auto* conv = node.attrs.get_if<HybridConvAttrs>();
  if (conv == nullptr || conv->epilogue.to != DType::f32 || conv->epilogue.stages.size() != 1) return std::string();
  const auto residue = hybrid_residue_of(graph, node.outputs[0]);
  const auto followed = follow_to_quantize(graph, residue ? residue->sum : node.outputs[0], Stored::bytes_or_s16);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (rounds_away(end.profile)) return std::string("there is no form of it for this rounding");
  auto scale = hybrid_in_units(graph, node.inputs[kHybridWScale], end.type.scale);
  auto bias = hybrid_in_units(graph, node.inputs[kHybridBias], end.type.scale);
  if (!scale || !bias) return std::string("its scale or bias is not constant");

  HybridConvAttrs attrs = *conv;
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  inputs[kHybridWScale] = patch.constant(node.name + "/scales", std::move(*scale));
  inputs[kHybridBias] = patch.constant(node.name + "/bias", std::move(*bias));
  if (residue) {
    const QuantType& other = residue->other.type;
    attrs.epilogue.stages.emplace_back(AddScaled{other.scale / end.type.scale, other.zero_point});
    inputs.push_back(residue->other.q);
  }
  attrs.epilogue.stages.emplace_back(end.rounding());
  attrs.epilogue.to = end.type.dtype;
  const ValueId y = patch.add(kHybridConv, std::move(attrs), std::move(inputs), node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
