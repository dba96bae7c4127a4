// fast bias correction: what rounded weights add to the mean of what a product gives, from the means of what it reads
// in the fp32 network. No sample goes through the quantized network: what rounding does before the product is not seen.
// Part of quantize/. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019),
// section 4.2, with means of samples.
#ifndef OCTAVO_QUANTIZE_FAST_BIAS_CORRECTION_H_
#define OCTAVO_QUANTIZE_FAST_BIAS_CORRECTION_H_

#include <map>
#include <vector>

#include "graph/graph.h"
#include "quantize/calibrator.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"
#include "quantize/scales.h"

namespace octavo {

// What the products of biased_results() read, in the same order, with the axis of the channels.
std::vector<ObservedValue> inputs_of_biased(const Graph& graph, const Placement& placement);

// `means`: by sample, those of inputs_of_biased(). A tap of a convolution that lies outside of the image for some
// results counts for the others.
BiasCorrections estimate_biases(const Graph& graph, const Placement& placement,
                                const std::vector<ActivationScale>& scales, const Calibrated& calibrated,
                                const std::map<std::int64_t, ChannelMeans>& means);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_FAST_BIAS_CORRECTION_H_
