// f32 convolutions with what follows them. Part of lower/.
#include "lower/rules/fuse_float_conv.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "lower/planar_conv.h"
#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/fused_conv/fused_conv.h"

namespace octavo {
namespace {

// An addition of two values of one shape that alone reads the wire, whose sum takes the wire's place.
std::optional<ValueId> take_residual(const Graph& graph, ValueId& wire) {
  const Node* add = only_reader(graph, wire);
  if (add == nullptr || !is_binary(add->attrs, BinaryKind::add)) return std::nullopt;
  const ValueId other = add->inputs[0] == wire ? add->inputs[1] : add->inputs[0];
  const Fact& fact = graph.fact(other);
  if (other == wire || fact.is_constant() || !fact.same_type(graph.fact(wire))) return std::nullopt;
  wire = add->outputs[0];
  return other;
}

// Those that oneDNN computes behind a convolution in one go.
bool is_fusible(UnaryKind kind) {
  constexpr UnaryKind kFusible[] = {UnaryKind::relu,    UnaryKind::clip, UnaryKind::leaky_relu, UnaryKind::elu,
                                    UnaryKind::sigmoid, UnaryKind::tanh, UnaryKind::silu,       UnaryKind::hard_swish,
                                    UnaryKind::mish,    UnaryKind::gelu, UnaryKind::gelu_tanh,  UnaryKind::softplus};
  return std::find(std::begin(kFusible), std::end(kFusible), kind) != std::end(kFusible);
}

}  // namespace

Match fuse_float_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const auto& conv = node.attrs.as<ConvAttrs>();
  const auto planar = PlanarConv::of(graph, node);
  if (conv.layout != Layout::channels_last || (conv.window.rank() != 2 && !planar))
    return std::string("it has other than one or two spatial axes");
  if (graph.fact(node.outputs[0]).dtype != DType::f32) return std::string("it is not f32");
  if (planar && !graph.fact(node.inputs[1]).is_constant()) return std::string("its weights are not constant");
  FusedConvAttrs attrs{.window = planar ? planar->window() : conv.window, .groups = conv.groups};
  ValueId result = node.outputs[0];
  auto residual = take_residual(graph, result);
  if (residual) attrs.residual = ResidualPlace::before_activation;
  const Node* reader = only_reader(graph, result);
  if (reader != nullptr && reader->spec == &kUnary && is_fusible(reader->attrs.as<UnaryAttrs>().kind)) {
    attrs.activation = reader->attrs.as<UnaryAttrs>();
    result = reader->outputs[0];
    if (!residual && (residual = take_residual(graph, result))) attrs.residual = ResidualPlace::after_activation;
  }
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  if (residual) {
    inputs.resize(4);
    inputs[3] = planar ? planar->flat(patch, *residual) : *residual;
  }
  if (planar) {
    const Fact& w = graph.fact(inputs[1]);
    inputs[0] = planar->image(patch, inputs[0], 0.0);
    inputs[1] = patch.constant(graph.value(node.inputs[1]).name, planar->weights(*w.constant));
  }
  const ValueId y = patch.add(kFusedConv, std::move(attrs), std::move(inputs), node.name, node.origin);
  patch.replace(result, planar ? planar->back(patch, y) : y);
  return patch;
}

}  // namespace octavo
