// Batch normalisation with constant statistics. Part of lower/.
#include "lower/rules/fold_batch_norm.h"

#include <cmath>
#include <optional>

#include "lower/convolution.h"
#include "lower/tensor_edit.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/conv/conv.h"

namespace octavo {
namespace {

// y = x * scale + shift per channel.
struct ChannelScale {
  std::vector<double> scale;
  std::vector<double> shift;
};

std::optional<ChannelScale> channel_scale(const Graph& graph, const Node& node) {
  for (std::size_t i = 1; i < 5; ++i) {
    if (!graph.fact(node.inputs[i]).is_constant()) return std::nullopt;
  }
  const auto value = [&](std::size_t input, std::int64_t c) {
    return element_as_double(graph.fact(node.inputs[input]).constant->view(), c);
  };
  const double epsilon = node.attrs.as<BatchNormAttrs>().epsilon;
  ChannelScale result;
  for (std::int64_t c = 0; c < graph.fact(node.inputs[1]).shape.elements(); ++c) {
    const double scale = value(1, c) / std::sqrt(value(4, c) + epsilon);
    result.scale.push_back(scale);
    result.shift.push_back(value(2, c) - value(3, c) * scale);
  }
  return result;
}

}  // namespace

Match fold_batch_norm(const Graph& graph, const Node& node) {
  if (node.spec != &kBatchNorm) return std::string();
  const auto [conv, channel_axis] = convolution_before(graph, node.inputs[0]);
  if (conv == nullptr) return std::string();
  if (node.attrs.as<BatchNormAttrs>().axis != channel_axis) return std::string("it is not along the channels");
  if (!graph.has_one_reader(node.inputs[0])) return std::string("the convolution before it has several readers");
  const Fact& w = graph.fact(conv->inputs[1]);
  if (!w.is_constant() || w.dtype != DType::f32) return std::string("the weights before it are not f32 constants");
  const bool has_bias = conv->inputs.size() > 2 && conv->inputs[2].exists();
  if (has_bias && !graph.fact(conv->inputs[2]).is_constant()) return std::string("the bias before it is not constant");
  const auto norm = channel_scale(graph, node);
  if (!norm) return std::string("its statistics are not constant");

  const std::int64_t per_channel = w.shape.elements(1, w.shape.rank());
  const auto channel = [&](std::int64_t i) { return static_cast<std::size_t>(i / per_channel); };
  Tensor weights = map_floats(
      *w.constant, [&](std::int64_t i, float value) { return static_cast<float>(value * norm->scale[channel(i)]); });
  Tensor bias(DType::f32, Shape{static_cast<std::int64_t>(norm->scale.size())});
  for (std::size_t c = 0; c < norm->scale.size(); ++c) {
    const double before =
        has_bias ? element_as_double(graph.fact(conv->inputs[2]).constant->view(), static_cast<std::int64_t>(c)) : 0.0;
    bias.as<float>()[c] = static_cast<float>(before * norm->scale[c] + norm->shift[c]);
  }
  Patch patch(graph);
  const ValueId new_w = patch.constant(graph.value(conv->inputs[1]).name, std::move(weights));
  const ValueId new_bias = patch.constant(conv->name + "/bias", std::move(bias));
  patch.replace(node.outputs[0],
                patch.add(*conv->spec, conv->attrs, {conv->inputs[0], new_w, new_bias}, conv->name, conv->origin));
  return patch;
}

Match batch_norm_to_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kBatchNorm) return std::string();
  const Fact& x = graph.fact(node.inputs[0]);
  const std::int64_t axis = node.attrs.as<BatchNormAttrs>().axis;
  const bool is_first = axis == 1;
  if (x.dtype != DType::f32 || x.shape.rank() != 4 || (!is_first && axis != 3))
    return std::string("it does not normalise the channels of an image");
  const int first = is_first ? 2 : 1;
  if (is_zero(x.shape[first]) || is_zero(x.shape[first + 1])) return std::string("its images are empty");
  const auto norm = channel_scale(graph, node);
  if (!norm) return std::string("its statistics are not constant");

  const auto channels = static_cast<std::int64_t>(norm->scale.size());
  Tensor weights(DType::f32, Shape{channels, 1, 1, 1});
  Tensor bias(DType::f32, Shape{channels});
  for (std::size_t c = 0; c < norm->scale.size(); ++c) {
    weights.as<float>()[c] = static_cast<float>(norm->scale[c]);
    bias.as<float>()[c] = static_cast<float>(norm->shift[c]);
  }
  Patch patch(graph);
  const ConvAttrs attrs{unit_window({1, 1}), channels, is_first ? Layout::channels_first : Layout::channels_last};
  const ValueId w = patch.constant(node.name + "/weight", std::move(weights));
  const ValueId b = patch.constant(node.name + "/bias", std::move(bias));
  patch.replace(node.outputs[0], patch.add(kConv, attrs, {node.inputs[0], w, b}, node.name, node.origin));
  return patch;
}

}  // namespace octavo
