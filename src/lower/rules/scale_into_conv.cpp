// Per-channel constants after a convolution. Part of lower/.
#include "lower/rules/scale_into_conv.h"

#include <optional>

#include "lower/convolution.h"
#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"

namespace octavo {
namespace {

struct ConvScaleOperands {
  const Node* conv = nullptr;
  std::vector<float> constant;
};

std::optional<ConvScaleOperands> operands(const Graph& graph, const Node& node, std::size_t conv_input) {
  const auto [conv, axis] = convolution_before(graph, node.inputs[conv_input]);
  if (conv == nullptr) return std::nullopt;
  const OpenShape& shape = graph.fact(conv->outputs[0]).shape;
  if (graph.fact(node.outputs[0]).shape != shape) return std::nullopt;
  auto constant = per_channel_constant(graph.fact(node.inputs[1 - conv_input]), shape.rank(), axis, shape[axis]);
  if (!constant) return std::nullopt;
  return ConvScaleOperands{conv, std::move(*constant)};
}

// y = x * factor + offset, for x the convolution's result.
struct Line {
  double factor = 1.0;
  double offset = 0.0;
};
std::optional<Line> line(BinaryKind kind, double constant, bool conv_is_first) {
  switch (kind) {
    case BinaryKind::add: return Line{1.0, constant};
    case BinaryKind::sub: return conv_is_first ? Line{1.0, -constant} : Line{-1.0, constant};
    case BinaryKind::mul: return Line{constant, 0.0};
    case BinaryKind::div: return conv_is_first ? std::optional(Line{1.0 / constant, 0.0}) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Match scale_into_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary) return std::string();
  auto found = operands(graph, node, 0);
  const bool conv_is_first = found.has_value();
  if (!found) found = operands(graph, node, 1);
  if (!found) return std::string();
  const Node& conv = *found->conv;
  const BinaryKind kind = node.attrs.as<BinaryAttrs>().kind;
  if (!line(kind, 1.0, conv_is_first)) return std::string();
  if (!graph.has_one_reader(conv.outputs[0])) return std::string("the convolution before it has several readers");
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2].exists();
  const bool is_bias_known = !has_bias || graph.fact(conv.inputs[2]).is_constant();
  if (!is_bias_known) return std::string("the bias before it is not an f32 constant");
  const Fact& w = graph.fact(conv.inputs[1]);
  const bool is_offset_only = kind == BinaryKind::add || (kind == BinaryKind::sub && conv_is_first);
  if (!is_offset_only && (!w.is_constant() || w.dtype != DType::f32))
    return std::string("the weights before it are not f32 constants");

  Tensor bias(DType::f32, Shape{static_cast<std::int64_t>(found->constant.size())});
  std::vector<double> factors;
  for (std::size_t c = 0; c < found->constant.size(); ++c) {
    const Line step = *line(kind, found->constant[c], conv_is_first);
    const double before =
        has_bias ? element_as_double(graph.fact(conv.inputs[2]).constant->view(), static_cast<std::int64_t>(c)) : 0.0;
    bias.as<float>()[c] = static_cast<float>(before * step.factor + step.offset);
    factors.push_back(step.factor);
  }
  Patch patch(graph);
  ValueId new_w = conv.inputs[1];
  if (!is_offset_only) {
    const std::int64_t size = w.shape.elements(1, w.shape.rank());
    const auto scaled = [&](std::int64_t i, float value) {
      return static_cast<float>(value * factors[static_cast<std::size_t>(i / size)]);
    };
    new_w = patch.constant(graph.value(conv.inputs[1]).name, map_floats(*w.constant, scaled));
  }
  const ValueId new_bias = patch.constant(conv.name + "/bias", std::move(bias));
  patch.replace(node.outputs[0],
                patch.add(*conv.spec, conv.attrs, {conv.inputs[0], new_w, new_bias}, conv.name, conv.origin));
  return patch;
}

}  // namespace octavo
