// Gathering moments of inputs and descending. Part of quantize/.
#include "quantize/adaptive_rounding.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/requantize.h"
#include "ops/conv/conv.h"
#include "quantize/calibrator.h"
#include "quantize/parallel.h"
#include "quantize/weight_rounding.h"

namespace octavo {
namespace {

constexpr std::size_t kMostValues = 1536;  // of one output: the products of all pairs are kept
constexpr std::size_t kMostProducts = std::size_t{8}
                                      << 20;  // of all layers looked at in one pass over the samples: 32 MB
constexpr std::int64_t kAdaptiveRoundingMostSamples = 32;
constexpr std::int64_t kPositions = 16;  // of an image at least, less than twice that at most

// A layer and the moments of its inputs, one for each group of channels.
struct Layer {
  WeightedProduct product;
  std::string result;
  ActivationScale scale;
  std::size_t size = 0;
  std::vector<InputMoments> groups;
};

std::size_t values_per_output(const Graph& graph, const WeightedProduct& product) {
  const Shape& weights = graph.fact(graph.node(product.node).inputs[1]).shape;
  return static_cast<std::size_t>(product.axis == 0 ? weights.elements(1, weights.rank()) : weights[0]);
}

std::size_t groups_of(const Node& node) {
  const auto* conv = node.attrs.get_if<ConvAttrs>();
  return conv != nullptr ? static_cast<std::size_t>(conv->groups) : 1;
}

bool is_supported(const Graph& graph, const Node& node) {
  const auto* conv = node.attrs.get_if<ConvAttrs>();
  return conv == nullptr || (conv->layout == Layout::channels_first && graph.fact(node.inputs[0]).shape.rank() == 4);
}

// 8-bit values of the inputs of some outputs of a group, minus the zero point: one row of `size` per output.
struct Patches {
  std::vector<std::int32_t> values;
  std::int64_t count = 0;
};

std::int32_t integer_of(float value, const ActivationScale& scale) {
  const float lowest = static_cast<float>((scale.dtype == DType::s8 ? -128 : 0) - scale.zero_point);
  return static_cast<std::int32_t>(round_small(clamp_f32(value / scale.scale, lowest, lowest + 255.0f)));
}

// Of an image [1, h, w, c]; outside of it everything is 0.
Patches conv_patches(const Node& node, const Shape& y, const ConstTensorView& x, const ActivationScale& scale,
                     std::size_t group) {
  const auto& attrs = node.attrs.as<ConvAttrs>();
  const Window& window = attrs.window;
  const std::int64_t channels = x.shape[3] / attrs.groups, first = static_cast<std::int64_t>(group) * channels;
  const std::int64_t outputs = y[2] * y[3], step = std::max<std::int64_t>(1, outputs / kPositions);
  Patches patches;
  for (std::int64_t position = step / 2; position < outputs; position += step, ++patches.count) {
    const std::int64_t top = position / y[3] * window.strides[0] - window.pad_begin[0],
                       left = position % y[3] * window.strides[1] - window.pad_begin[1];
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t kh = 0; kh < window.kernel[0]; ++kh) {
        for (std::int64_t kw = 0; kw < window.kernel[1]; ++kw) {
          const std::int64_t h = top + kh * window.dilations[0], w = left + kw * window.dilations[1];
          const bool is_inside = h >= 0 && h < x.shape[1] && w >= 0 && w < x.shape[2];
          patches.values.push_back(
              is_inside ? integer_of(x.as<float>()[(h * x.shape[2] + w) * x.shape[3] + first + c], scale) : 0);
        }
      }
    }
  }
  return patches;
}

Patches row_patches(const ConstTensorView& x, const ActivationScale& scale) {
  const std::int64_t columns = x.shape[x.shape.rank() - 1], rows = columns == 0 ? 0 : x.shape.elements() / columns;
  const std::int64_t step = std::max<std::int64_t>(1, rows / kPositions);
  Patches patches;
  for (std::int64_t row = step / 2; row < rows; row += step, ++patches.count) {
    for (std::int64_t column = 0; column < columns; ++column)
      patches.values.push_back(integer_of(x.as<float>()[row * columns + column], scale));
  }
  return patches;
}

constexpr std::size_t triangle(std::size_t size) { return size * (size + 1) / 2; }

// The sums of all samples do not depend on their order: integers, which 32 bits hold.
static_assert(std::int64_t{255} * 255 * kAdaptiveRoundingMostSamples * (2 * kPositions - 1) < std::int64_t{1} << 31);
void add_patches(InputMoments& moments, const Patches& patches, std::mutex& mutex) {
  const std::size_t size = moments.size;
  std::vector<std::int32_t> row(size);
  for (std::size_t i = 0; i < size; ++i) {
    std::fill(row.begin(), row.end(), 0);
    std::int64_t sum = 0;
    for (std::int64_t p = 0; p < patches.count; ++p) {
      const std::int32_t* patch = patches.values.data() + static_cast<std::size_t>(p) * size;
      sum += patch[i];
      if (patch[i] == 0) continue;
      for (std::size_t j = 0; j <= i; ++j) row[j] += patch[i] * patch[j];
    }
    const std::lock_guard lock(mutex);
    moments.sums[i] += sum;
    for (std::size_t j = 0; j <= i; ++j) moments.products[triangle(i) + j] += row[j];
  }
  const std::lock_guard lock(mutex);
  moments.count += patches.count;
}

// Covariances in units of the mean variance, with a little of that on the diagonal: samples do not show everything.
std::vector<float> covariances(const InputMoments& moments) {
  const std::size_t size = moments.size;
  const auto count = static_cast<double>(std::max<std::int64_t>(1, moments.count));
  const auto exact = [&](std::size_t i, std::size_t j) {  // j <= i
    const double mean = static_cast<double>(moments.sums[i]) / count * (static_cast<double>(moments.sums[j]) / count);
    return static_cast<double>(moments.products[triangle(i) + j]) / count - mean;
  };
  double trace = 0.0;
  for (std::size_t i = 0; i < size; ++i) trace += exact(i, i);
  constexpr double kDoubt = 0.05;
  const double unit = trace > 0.0 ? trace / static_cast<double>(size) : 1.0;
  std::vector<float> result(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      result[i * size + j] = result[j * size + i] = static_cast<float>(exact(i, j) / unit);
    result[i * size + i] += static_cast<float>(kDoubt);
  }
  return result;
}

// One output channel. A step from one neighbour to the other changes the error by 2 * step * slope + variance.
void descend(std::span<const float> exact, const std::vector<float>& covariance, std::span<std::int8_t> rounded) {
  constexpr int kSweeps = 8;
  const std::size_t size = exact.size();
  std::vector<float> slope(size, 0.0f);
  const auto add_step = [&](std::size_t i, float step) {
    const float* row = covariance.data() + i * size;
    for (std::size_t j = 0; j < size; ++j) slope[j] += step * row[j];
  };
  for (std::size_t i = 0; i < size; ++i) add_step(i, static_cast<float>(rounded[i]) - exact[i]);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool has_changed = false;
    for (std::size_t i = 0; i < size; ++i) {
      const float error = static_cast<float>(rounded[i]) - exact[i];
      const int step = error > 0.0f ? -1 : 1;
      const int other = rounded[i] + step;
      if (error == 0.0f || other < -127 || other > 127 || std::fabs(static_cast<float>(other) - exact[i]) >= 1.0f)
        continue;
      if (2.0f * static_cast<float>(step) * slope[i] + covariance[i * size + i] >= -1e-6f) continue;
      rounded[i] = static_cast<std::int8_t>(other);
      add_step(i, static_cast<float>(step));
      has_changed = true;
    }
    if (!has_changed) return;
  }
}

// One output channel's weights where they lie.
void adaptive_rounding_round_channel(const Layer& layer, const std::vector<float>& covariance, std::size_t channel,
                                     const Tensor& weights, RoundedWeights& rounded) {
  if (rounded.scale[channel] <= 0.0f) return;
  const std::size_t channel_stride = layer.product.axis == 0 ? layer.size : 1,
                    value_stride = layer.product.axis == 0 ? 1 : rounded.scale.size();
  std::vector<float> exact(layer.size);
  std::vector<std::int8_t> own(layer.size);
  for (std::size_t i = 0; i < layer.size; ++i) {
    const std::size_t at = channel * channel_stride + i * value_stride;
    exact[i] = weights.as<float>()[at] / rounded.scale[channel];
    own[i] = std::as_const(rounded.values).as<std::int8_t>()[at];
  }
  descend(exact, covariance, own);
  for (std::size_t i = 0; i < layer.size; ++i)
    rounded.values.as<std::int8_t>()[channel * channel_stride + i * value_stride] = own[i];
}

Status round_layer(const Layer& layer, const Tensor& weights, int workers, RoundedWeights& rounded) {
  const std::size_t per_group = std::max<std::size_t>(1, rounded.scale.size() / layer.groups.size());
  std::vector<std::vector<float>> of_group(layer.groups.size());
  const auto groups = static_cast<std::int64_t>(of_group.size()),
             channels = static_cast<std::int64_t>(rounded.scale.size());
  const Status known = for_each_index(0, groups, workers, [&](int, std::int64_t group) {
    of_group[static_cast<std::size_t>(group)] = covariances(layer.groups[static_cast<std::size_t>(group)]);
    return ok_status();
  });
  if (!known) return known;
  return for_each_index(0, channels, workers, [&](int, std::int64_t channel) {
    const auto c = static_cast<std::size_t>(channel), group = std::min(c / per_group, of_group.size() - 1);
    if (layer.groups[group].count > 0) adaptive_rounding_round_channel(layer, of_group[group], c, weights, rounded);
    return ok_status();
  });
}

// The layers of one pass over the samples.
Status gather(const Graph& graph, const SampleRuns& runs, std::span<Layer> layers) {
  std::vector<ObservedValue> inputs_of_layers;
  for (const Layer& layer : layers) {
    const ValueId x = graph.node(layer.product.node).inputs[0];
    inputs_of_layers.push_back({x, layer.product.axis == 0 ? 1 : graph.fact(x).shape.rank() - 1});
  }
  const auto network = ObservedNetwork::compile(graph, inputs_of_layers, runs.machine);
  if (!network) return network.errors();
  std::vector<std::mutex> locks(layers.size());
  return observe_samples(
      graph, *network, runs, kAdaptiveRoundingMostSamples, [&](std::size_t k, const TensorView& value) {
        Layer& layer = layers[k];
        const Node& node = graph.node(layer.product.node);
        const bool is_conv = node.attrs.is<ConvAttrs>();
        if (network->channel_axis(k) != value.shape.rank() - 1 || (is_conv && value.shape.rank() != 4)) return;
        for (std::size_t g = 0; g < layer.groups.size(); ++g) {
          const Patches patches = is_conv ? conv_patches(node, graph.fact(node.outputs[0]).shape, value, layer.scale, g)
                                          : row_patches(value, layer.scale);
          add_patches(layer.groups[g], patches, locks[k]);
        }
      });
}

std::vector<Layer> layers_of(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                             const std::map<std::string, RoundedWeights>& weights) {
  std::vector<Layer> layers;
  for (const WeightedProduct& product : weighted_products(graph, placement)) {
    const Node& node = graph.node(product.node);
    const std::string result = graph.value(node.outputs[0]).name;
    const std::size_t size = values_per_output(graph, product);
    if (!is_supported(graph, node) || size < 1 || size > kMostValues || !weights.contains(result)) continue;
    layers.push_back({product, result, scales[static_cast<std::size_t>(node.inputs[0].index)], size, {}});
    layers.back().groups.resize(groups_of(node));
  }
  return layers;
}

}  // namespace

void round_adaptively(std::span<const float> exact, const InputMoments& moments, std::span<std::int8_t> rounded) {
  descend(exact, covariances(moments), rounded);
}

namespace {

std::size_t products_of(const Layer& layer) { return layer.groups.size() * triangle(layer.size); }

// Layers from `begin` on that one pass over the samples can look at.
std::size_t end_of_pass(const std::vector<Layer>& layers, std::size_t begin) {
  std::size_t end = begin, products = 0;
  for (; end < layers.size() && (end == begin || products + products_of(layers[end]) <= kMostProducts); ++end)
    products += products_of(layers[end]);
  return end;
}

}  // namespace

Status round_adaptively(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                        const SampleRuns& runs, std::map<std::string, RoundedWeights>& weights,
                        const Monitor& monitor) {
  std::vector<Layer> layers = layers_of(graph, placement, scales, weights);
  for (std::size_t begin = 0; begin < layers.size();) {
    const std::size_t end = end_of_pass(layers, begin);
    const auto pass = std::span(layers).subspan(begin, end - begin);
    for (Layer& layer : pass) {
      const InputMoments none{layer.size, 0, std::vector<std::int64_t>(layer.size),
                              std::vector<std::int32_t>(triangle(layer.size))};
      std::fill(layer.groups.begin(), layer.groups.end(), none);
    }
    if (const Status gathered = gather(graph, runs, pass); !gathered) return gathered;
    for (Layer& layer : pass) {
      const Status going_on = monitor.at(Phase::rounding, &layer - layers.data(), std::ssize(layers));
      if (!going_on) return going_on;
      const Tensor& exact = *graph.fact(graph.node(layer.product.node).inputs[1]).constant;
      if (const Status done = round_layer(layer, exact, runs.machine.cores, weights.at(layer.result)); !done)
        return done;
      layer.groups.clear();
      layer.groups.shrink_to_fit();
    }
    begin = end;
  }
  return ok_status();
}

}  // namespace octavo
