// The roles of operators. Part of quantize/.
#include "quantize/roles.h"

#include "ops/attention/attention.h"
#include "ops/average_pool/average_pool.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"

namespace octavo {

bool is_integer_softmax(const Graph& graph, const Node& node) {
  const auto* softmax = node.attrs.get_if<SoftmaxAttrs>();
  if (softmax == nullptr || graph.fact(node.inputs[0]).dtype != DType::f32) return false;
  return softmax->kind == SoftmaxKind::softmax && softmax->axis == graph.fact(node.inputs[0]).shape.rank() - 1;
}

bool is_clamp(const Node& node) {
  const auto* unary = node.attrs.get_if<UnaryAttrs>();
  return unary != nullptr && (unary->kind == UnaryKind::relu || unary->kind == UnaryKind::clip);
}

bool is_norm(const Node& node) { return node.attrs.is<LayerNormAttrs>(); }

bool is_mean(const Node& node) { return node.attrs.is<ReduceAttrs>() || node.attrs.is<AveragePoolAttrs>(); }

bool takes_integers(const Node& node, std::size_t input) {
  if (node.spec == &kLayerNorm) return input == 0;
  return node.spec != &kAttention || input < kAttentionMask;
}

NodeRole role_of(const Graph& graph, const Node& node) {
  const bool is_f32 = node.outputs.size() == 1 && graph.fact(node.outputs[0]).dtype == DType::f32 &&
                      !node.inputs.empty() && node.inputs[0].exists() && graph.fact(node.inputs[0]).dtype == DType::f32;
  if (!is_f32)
    return {Role::floating, graph.fact(node.outputs[0]).dtype == DType::f32 ? "makes f32 from another type" : ""};
  if (node.spec->role == nullptr) return {Role::floating, "no integer form of " + std::string(node.spec->name)};
  return node.spec->role(node.attrs, graph.input_facts(node));
}

}  // namespace octavo
