// Means times errors of weights. Part of quantize/.
#include "quantize/fast_bias_correction.h"

#include <algorithm>

#include "ops/conv/conv.h"
#include "quantize/bias_correction.h"

namespace octavo {
namespace {

// The product that gives a biased result: the producer, or what it adds the bias to.
const Node& product_of(const Graph& graph, ValueId result) {
  const Node& node = *graph.producer(result);
  if (node.spec->weight_axis >= 0) return node;
  const Node* first = graph.producer(node.inputs[0]);
  return first != nullptr && first->spec->weight_axis >= 0 ? *first : *graph.producer(node.inputs[1]);
}

// In the order of the samples. Empty where one of them knows nothing.
std::vector<double> mean_of(const std::map<std::int64_t, ChannelMeans>& means, std::size_t k) {
  std::vector<double> sum(means.begin()->second[k].size());
  for (const auto& [sample, of_sample] : means) {
    if (of_sample[k].size() != sum.size()) return {};
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += static_cast<double>(of_sample[k][c]);
  }
  for (double& value : sum) value /= static_cast<double>(means.size());
  return sum;
}

// The share of results for which a tap lies inside of the image, along one axis.
double inside(const Window& window, int axis, std::int64_t tap, std::int64_t size, std::int64_t results) {
  const auto d = static_cast<std::size_t>(axis);
  std::int64_t count = 0;
  for (std::int64_t o = 0; o < results; ++o) {
    const std::int64_t at = o * window.strides[d] + tap * window.dilations[d] - window.pad_begin[d];
    count += at >= 0 && at < size ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, results));
}

// By tap of the kernel, in row-major order.
std::vector<double> inside(const Window& window, std::span<const std::int64_t> image,
                           std::span<const std::int64_t> results) {
  std::vector<double> shares{1.0};
  for (int axis = 0; axis < window.rank(); ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    std::vector<double> longer;
    for (const double before : shares) {
      for (std::int64_t tap = 0; tap < window.kernel[d]; ++tap)
        longer.push_back(before * inside(window, axis, tap, image[d], results[d]));
    }
    shares = std::move(longer);
  }
  return shares;
}

// What each weight of a product is multiplied by on average: [values of one output], for each group of channels.
std::vector<std::vector<double>> mean_factors(const Graph& graph, const Node& product,
                                              const std::vector<double>& mean) {
  const auto* conv = product.attrs.get_if<ConvAttrs>();
  if (conv == nullptr) return {mean};
  const ConvAttrs& attrs = *conv;
  const bool is_last = attrs.layout == Layout::channels_last;
  const std::vector<std::int64_t> x = fixed(graph.fact(product.inputs[0]).shape.dims()),
                                  y = fixed(graph.fact(product.outputs[0]).shape.dims());
  const std::size_t first_axis = is_last ? 1 : 2, rank = attrs.window.kernel.size();
  const std::vector<double> shares =
      inside(attrs.window, std::span(x).subspan(first_axis, rank), std::span(y).subspan(first_axis, rank));
  const auto groups = static_cast<std::size_t>(attrs.groups), channels = mean.size() / groups;
  std::vector<std::vector<double>> factors(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = 0; i < channels * shares.size(); ++i) {
      const std::size_t channel = is_last ? i % channels : i / shares.size(),
                        tap = is_last ? i / channels : i % shares.size();
      factors[g].push_back(mean[g * channels + channel] * shares[tap]);
    }
  }
  return factors;
}

// By output channel: what rounding the weights takes away on average.
std::vector<float> lost(const Tensor& exact, const QuantizedWeights& rounded, int axis,
                        const std::vector<std::vector<double>>& factors) {
  const std::size_t outputs = rounded.scale.size(), size = factors.front().size(),
                    per_group = std::max<std::size_t>(1, outputs / factors.size());
  const std::size_t output_stride = axis == 0 ? size : 1, value_stride = axis == 0 ? 1 : outputs;
  std::vector<float> result;
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::vector<double>& own = factors[std::min(o / per_group, factors.size() - 1)];
    double sum = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = o * output_stride + i * value_stride;
      const double value =
          static_cast<double>(rounded.values.as<std::int8_t>()[at]) * static_cast<double>(rounded.scale[o]);
      sum += (static_cast<double>(exact.as<float>()[at]) - value) * own[i];
    }
    result.push_back(static_cast<float>(sum));
  }
  return result;
}

}  // namespace

std::vector<ObservedValue> inputs_of_biased(const Graph& graph, const Placement& placement) {
  std::vector<ObservedValue> inputs;
  for (const ObservedValue& result : biased_results(graph, placement)) {
    const Node& product = product_of(graph, result.id);
    const auto* conv = product.attrs.get_if<ConvAttrs>();
    const bool is_first = conv != nullptr && conv->layout == Layout::channels_first;
    inputs.push_back({product.inputs[0], is_first ? 1 : graph.fact(product.inputs[0]).shape.rank() - 1});
  }
  return inputs;
}

BiasCorrections estimate_biases(const Graph& graph, const Placement& placement,
                                const std::vector<ActivationScale>& scales, const Calibrated& calibrated,
                                const std::map<std::int64_t, ChannelMeans>& means) {
  BiasCorrections corrections;
  if (means.empty()) return corrections;
  const std::vector<ObservedValue> biased = biased_results(graph, placement);
  for (std::size_t k = 0; k < biased.size(); ++k) {
    const Node& product = product_of(graph, biased[k].id);
    const std::vector<double> mean = mean_of(means, k);
    const Tensor& exact = *graph.fact(product.inputs[1]).constant;
    const int axis = product.spec->weight_axis;
    const std::vector<std::vector<double>> factors = mean_factors(graph, product, mean);
    const auto outputs = static_cast<std::size_t>(exact.shape()[axis]);
    if (mean.empty() || factors.front().size() * outputs != static_cast<std::size_t>(exact.elements())) continue;
    const QuantizedWeights rounded =
        quantize_weights(exact, axis, {}, scales[static_cast<std::size_t>(product.inputs[0].index)].scale,
                         known_weights(calibrated, graph.value(product.outputs[0]).name));
    corrections[graph.value(biased[k].id).name] = lost(exact, rounded, axis, factors);
  }
  return corrections;
}

}  // namespace octavo
