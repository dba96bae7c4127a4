// The roles of operators. Part of quantize/.
#include "quantize/roles.h"

#include <algorithm>

#include "ops/list.h"

namespace octavo {
namespace {

NodeRole floating(std::string reason) { return {Role::floating, std::move(reason)}; }

bool is_f32_constant(const Fact& fact) { return fact.is_constant() && fact.dtype == DType::f32; }

NodeRole conv_role(const Graph& graph, const Node& node) {
  if (!is_f32_constant(graph.fact(node.inputs[1]))) return floating("weights are not constant");
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].exists();
  if (has_bias && !is_f32_constant(graph.fact(node.inputs[2]))) return floating("bias is not constant");
  const int rank = node.attrs.as<ConvAttrs>().window.rank();
  if (rank > 2) return floating("convolution over " + std::to_string(rank) + " axes");
  return {Role::product, {}};
}

NodeRole matmul_role(const Graph& graph, const Node& node) {
  const Fact& a = graph.fact(node.inputs[0]);
  const Fact& b = graph.fact(node.inputs[1]);
  if (a.is_constant()) return floating("first factor is constant");
  if (b.is_constant() && b.shape.rank() != 2)
    return floating("constant factor of rank " + std::to_string(b.shape.rank()));
  return {Role::product, {}};
}

NodeRole binary_role(const Graph& graph, const Node& node) {
  const BinaryKind kind = node.attrs.as<BinaryAttrs>().kind;
  const bool is_scalar = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return is_f32_constant(graph.fact(input)) && graph.fact(input).shape.elements() == 1;
  });
  if (is_scalar) return {Role::pointwise, {}};
  if (kind == BinaryKind::add || kind == BinaryKind::mul) return {Role::kernel, {}};
  return floating("no integer form of " + std::string(name_of(kind)));
}

NodeRole reduce_role(const Graph& graph, const Node& node) {
  const auto& attrs = node.attrs.as<ReduceAttrs>();
  const bool is_spatial_mean = attrs.kind == ReduceKind::mean && graph.fact(node.inputs[0]).shape.rank() == 4 &&
                               attrs.axes == std::vector<std::int64_t>{2, 3};
  if (is_spatial_mean) return {Role::kernel, {}};
  return floating("no integer form of " + std::string(name_of(attrs.kind)) + " over these axes");
}

NodeRole pad_role(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1].exists()) return {Role::moving, {}};
  const Fact& value = graph.fact(node.inputs[1]);
  const bool is_zero = is_f32_constant(value) && value.constant->as<float>()[0] == 0.0f;
  return is_zero ? NodeRole{Role::moving, {}} : floating("padding with a value other than 0");
}

NodeRole gather_role(const Graph& graph, const Node& node) {
  const bool is_fixed = !graph.fact(node.inputs[0]).is_constant() && graph.fact(node.inputs[1]).is_constant();
  return is_fixed ? NodeRole{Role::moving, {}} : floating("lookup by computed indices");
}

NodeRole resize_role(const Node& node) {
  const auto& attrs = node.attrs.as<ResizeAttrs>();
  const bool stays_inside = attrs.coordinates != ResizeCoordinates::tf_crop_and_resize && !attrs.antialias;
  if (attrs.mode != ResizeMode::cubic && stays_inside) return {Role::moving, {}};
  return floating("no integer form of this resize");
}

NodeRole unary_role(const Node& node) {
  const UnaryKind kind = node.attrs.as<UnaryAttrs>().kind;
  // A table needs a bounded result; these have poles inside the range of an activation.
  if (kind == UnaryKind::reciprocal || kind == UnaryKind::log)
    return floating("no table of " + std::string(name_of(kind)) + ", which is unbounded");
  return {Role::pointwise, {}};
}

}  // namespace

bool is_integer_softmax(const Graph& graph, const Node& node) {
  if (node.spec != &kSoftmax || graph.fact(node.inputs[0]).dtype != DType::f32) return false;
  const auto& attrs = node.attrs.as<SoftmaxAttrs>();
  return attrs.kind == SoftmaxKind::softmax && attrs.axis == graph.fact(node.inputs[0]).shape.rank() - 1;
}

bool is_clamp(const Node& node) {
  if (node.spec != &kUnary) return false;
  const UnaryKind kind = node.attrs.as<UnaryAttrs>().kind;
  return kind == UnaryKind::relu || kind == UnaryKind::clip;
}

NodeRole role_of(const Graph& graph, const Node& node) {
  const bool is_f32 = node.outputs.size() == 1 && graph.fact(node.outputs[0]).dtype == DType::f32 &&
                      !node.inputs.empty() && node.inputs[0].exists() && graph.fact(node.inputs[0]).dtype == DType::f32;
  if (!is_f32) return floating(graph.fact(node.outputs[0]).dtype == DType::f32 ? "makes f32 from another type" : "");
  const OpSpec* spec = node.spec;
  if (spec == &kConv) return conv_role(graph, node);
  if (spec == &kMatmul) return matmul_role(graph, node);
  if (spec == &kBinary) return binary_role(graph, node);
  if (spec == &kUnary) return unary_role(node);
  if (spec == &kReduce) return reduce_role(graph, node);
  if (spec == &kPad) return pad_role(graph, node);
  if (spec == &kGather) return gather_role(graph, node);
  if (spec == &kResize) return resize_role(node);
  if (spec == &kAveragePool) return {Role::kernel, {}};
  const OpSpec* moving[] = {&kConcat, &kExpand, &kMaxPool, &kReshape, &kSlice, &kTranspose};
  if (std::find(std::begin(moving), std::end(moving), spec) != std::end(moving)) return {Role::moving, {}};
  return floating("no integer form of " + std::string(spec->name));
}

}  // namespace octavo
