// bias_correction: rounding weights and activations shifts the mean of what a product gives; its bias takes the shift back. Part of quantize/.
// Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019), section 4.2, on samples instead of statistics,
// and layer after layer: each is corrected with the quantized, corrected network before it.
#ifndef OCTAVO_QUANTIZE_BIAS_CORRECTION_H_
#define OCTAVO_QUANTIZE_BIAS_CORRECTION_H_

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"

namespace octavo {

// `quantized`: what insert_pairs made of `graph` and `placement`. Uses samples spread evenly over `samples`: at most 64, fewer where the network's
// values are large. Products without a bias have no correction. Errors: those of the samples.
Result<BiasCorrections> correct_biases(const Graph& graph, const Placement& placement, const Graph& quantized, const SampleSource& samples);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_BIAS_CORRECTION_H_
