// Adaptive rounding: each weight goes up or down so that what the layer gives on the samples is nearest to what it
// should, not each weight to itself. Nagel et al., "Up or Down? Adaptive Rounding for Post-Training Quantization"
// (2020): the layer-wise quadratic problem, by coordinate descent. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_ADAPTIVE_ROUNDING_H_
#define OCTAVO_QUANTIZE_ADAPTIVE_ROUNDING_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"
#include "quantize/scales.h"

namespace octavo {

// Inputs of one product, as sums: of their values and of their products with each other, exact.
struct InputMoments {
  std::size_t size = 0;  // values that one output is a sum over
  std::int64_t count = 0;
  std::vector<std::int64_t> sums;      // [size]
  std::vector<std::int32_t> products;  // the lower triangle, row after row: that of i and j <= i at i * (i + 1) / 2 + j
};

// Rounds one output channel: `exact` in units of its scale, `rounded` where to begin. Each result is a neighbour of
// `exact` within +-127. Minimizes the variance of the sum's error, its mean being left to the bias.
void round_adaptively(std::span<const float> exact, const InputMoments& moments, std::span<std::int8_t> rounded);

// Improves `weights` (by name of the product's result) on up to 32 samples with the scales they have. Products over
// more than 1536 values, or other than convolutions over two axes and products of matrices, keep them. `scales`: by
// ValueId. Errors: those of the samples, and cancelled, between layers.
Status round_adaptively(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                        const SampleRuns& runs, std::map<std::string, RoundedWeights>& weights, const Monitor& monitor);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_ADAPTIVE_ROUNDING_H_
