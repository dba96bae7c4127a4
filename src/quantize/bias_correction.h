// bias_correction: rounding weights and activations shifts the mean of what a product gives; its bias takes the shift
// back. Part of quantize/. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction"
// (2019), section 4.2, on samples instead of statistics.
#ifndef OCTAVO_QUANTIZE_BIAS_CORRECTION_H_
#define OCTAVO_QUANTIZE_BIAS_CORRECTION_H_

#include <map>

#include "graph/graph.h"
#include "quantize/calibrator.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"
#include "quantize/scales.h"

namespace octavo {

// The products whose bias is a constant of the graph: their results, with the axis of the channels. Products without a
// bias have no correction.
std::vector<ObservedValue> biased_results(const Graph& graph, const Placement& placement);

// The samples that corrections are made from, spread evenly: at most 64.
std::vector<std::int64_t> correction_samples(std::int64_t size);

// `means`: by sample, what the fp32 network gives for biased_results(). Layer after layer: each product is measured
// behind the quantized, corrected network before it. Where what the samples have on their way takes much memory, fewer
// of them are asked, at least 8. Errors: those of the samples, and cancelled, between layers.
Result<BiasCorrections> correct_biases(const Graph& graph, const Placement& placement,
                                       const std::vector<ActivationScale>& scales, const Calibrated& calibrated,
                                       const std::map<std::int64_t, ChannelMeans>& means, const SampleRuns& runs,
                                       const Monitor& monitor);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_BIAS_CORRECTION_H_
