// Layer normalisation written as several nodes. Part of lower/.
#include "lower/rules/layer_norm_pattern.h"

#include <optional>

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

const Node* norm_binary_of(const Graph& graph, ValueId wire, BinaryKind kind) {
  const Node* node = graph.producer_if(wire, kBinary);
  return node != nullptr && node->attrs.as<BinaryAttrs>().kind == kind ? node : nullptr;
}

// The first axis of a mean over the last axes that keeps them; nothing for other nodes.
std::optional<std::int64_t> mean_of(const Graph& graph, ValueId wire, ValueId x) {
  const Node* node = graph.producer_if(wire, kReduce);
  if (node == nullptr || node->inputs[0] != x) return std::nullopt;
  const auto& attrs = node->attrs.as<ReduceAttrs>();
  const std::int64_t rank = graph.fact(x).shape.rank();
  if (attrs.kind != ReduceKind::mean || !attrs.keep_dims || attrs.axes.empty()) return std::nullopt;
  if (attrs.axes.back() != rank - 1 || attrs.axes.front() != rank - static_cast<std::int64_t>(attrs.axes.size()))
    return std::nullopt;
  return attrs.axes.front();
}

bool is_square_of(const Graph& graph, ValueId wire, ValueId x) {
  if (const Node* product = norm_binary_of(graph, wire, BinaryKind::mul))
    return product->inputs[0] == x && product->inputs[1] == x;
  const Node* power = norm_binary_of(graph, wire, BinaryKind::pow);
  return power != nullptr && power->inputs[0] == x && scalar_constant(graph, power->inputs[1]) == 2.0f;
}

struct Normalised {
  ValueId x;
  LayerNormAttrs attrs;
};

// (x - mean(x)) and sqrt(mean((x - mean(x))^2) + epsilon).
std::optional<Normalised> normalised(const Graph& graph, ValueId difference, ValueId deviation) {
  const Node* centred = norm_binary_of(graph, difference, BinaryKind::sub);
  const Node* root = graph.producer_if(deviation, kUnary);
  if (centred == nullptr || root == nullptr || root->attrs.as<UnaryAttrs>().kind != UnaryKind::sqrt)
    return std::nullopt;
  const ValueId x = centred->inputs[0];
  const auto axis = mean_of(graph, centred->inputs[1], x);
  const Node* sum = norm_binary_of(graph, root->inputs[0], BinaryKind::add);
  if (!axis || sum == nullptr) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto epsilon = scalar_constant(graph, sum->inputs[1 - side]);
    const Node* variance = graph.producer_if(sum->inputs[side], kReduce);
    if (!epsilon || variance == nullptr || mean_of(graph, sum->inputs[side], variance->inputs[0]) != axis) continue;
    if (is_square_of(graph, variance->inputs[0], difference)) return Normalised{x, {*axis, *epsilon}};
  }
  return std::nullopt;
}

// Divided by the deviation, or multiplied by its reciprocal.
std::optional<Normalised> normalised(const Graph& graph, const Node& node) {
  if (is_binary(node.attrs, BinaryKind::div)) return normalised(graph, node.inputs[0], node.inputs[1]);
  if (!is_binary(node.attrs, BinaryKind::mul)) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const Node* inverse = graph.producer_if(node.inputs[side], kUnary);
    if (inverse == nullptr || inverse->attrs.as<UnaryAttrs>().kind != UnaryKind::reciprocal) continue;
    if (const auto found = normalised(graph, node.inputs[1 - side], inverse->inputs[0])) return found;
  }
  return std::nullopt;
}

// The constant of the normalised shape with which the only reader of `wire` combines it.
struct NormStep {
  const Node* node = nullptr;
  ValueId constant;
};
std::optional<NormStep> next_step(const Graph& graph, ValueId wire, BinaryKind kind, const OpenShape& shape) {
  const Node* reader = only_reader(graph, wire);
  if (reader == nullptr || !is_binary(reader->attrs, kind)) return std::nullopt;
  const ValueId other = reader->inputs[0] == wire ? reader->inputs[1] : reader->inputs[0];
  const Fact& fact = graph.fact(other);
  if (!fact.is_constant() || fact.shape != shape) return std::nullopt;
  return NormStep{reader, other};
}

}  // namespace

Match layer_norm_pattern(const Graph& graph, const Node& node) {
  const auto found = normalised(graph, node);
  if (!found || graph.fact(found->x).dtype != DType::f32) return std::string();
  const OpenShape& x = graph.fact(found->x).shape;
  const OpenShape inner(x.dims().subspan(static_cast<std::size_t>(found->attrs.axis)));
  ValueId result = node.outputs[0];
  const auto scale = next_step(graph, result, BinaryKind::mul, inner);
  if (scale) result = scale->node->outputs[0];
  const auto bias = next_step(graph, result, BinaryKind::add, inner);
  if (bias) result = bias->node->outputs[0];

  Patch patch(graph);
  std::vector<ValueId> inputs = {found->x};
  if (scale) inputs.push_back(scale->constant);
  else
    inputs.push_back(patch.constant(
        node.name + "/scale", Tensor::of(inner, std::vector<float>(static_cast<std::size_t>(inner.elements()), 1.0f))));
  if (bias) inputs.push_back(bias->constant);
  patch.replace(result, patch.add(kLayerNorm, found->attrs, std::move(inputs), node.name, node.origin));
  return patch;
}

}  // namespace octavo
