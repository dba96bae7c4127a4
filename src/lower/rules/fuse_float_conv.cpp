// f32 convolutions with what follows them. Part of lower/.
#include "lower/rules/fuse_float_conv.h"

#include <optional>

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/fused_conv/fused_conv.h"

namespace octavo {
namespace {

// An addition of two values of one shape that alone reads the wire.
std::optional<ValueId> residual_of(const Graph& graph, ValueId wire, ValueId& sum) {
  const Node* add = only_reader(graph, wire);
  if (add == nullptr || !is_binary(add->attrs, BinaryKind::add)) return std::nullopt;
  const ValueId other = add->inputs[0] == wire ? add->inputs[1] : add->inputs[0];
  const Fact& fact = graph.fact(other);
  if (fact.is_constant() || !fact.same_type(graph.fact(wire))) return std::nullopt;
  sum = add->outputs[0];
  return other;
}

bool is_fusible(UnaryKind kind) {
  return kind == UnaryKind::relu || kind == UnaryKind::clip || kind == UnaryKind::silu ||
         kind == UnaryKind::hard_swish || kind == UnaryKind::gelu || kind == UnaryKind::sigmoid;
}

}  // namespace

Match fuse_float_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const auto& conv = node.attrs.as<ConvAttrs>();
  if (conv.layout != Layout::channels_last || conv.window.rank() != 2)
    return std::string("it has other than one or two spatial axes");
  if (graph.fact(node.outputs[0]).dtype != DType::f32) return std::string("it is not f32");
  FusedConvAttrs attrs{.window = conv.window, .groups = conv.groups};
  ValueId result = node.outputs[0];
  const auto residual = residual_of(graph, result, result);
  attrs.has_residual = residual.has_value();
  const Node* reader = only_reader(graph, result);
  if (reader != nullptr && reader->spec == &kUnary && is_fusible(reader->attrs.as<UnaryAttrs>().kind)) {
    attrs.activation = reader->attrs.as<UnaryAttrs>();
    result = reader->outputs[0];
  }
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  if (residual) {
    inputs.resize(4);
    inputs[3] = *residual;
  }
  patch.replace(result, patch.add(kFusedConv, std::move(attrs), std::move(inputs), node.name, node.origin));
  return patch;
}

}  // namespace octavo
