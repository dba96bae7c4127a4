// Equalization: channels of one tensor share a scale, so a channel whose values are small is rounded coarsely. Where a
// convolution is followed, through ReLU or clip, by convolutions alone, a factor per channel can move from the first
// one's weights into the others': the network stays the same, and its channels become alike. Part of quantize/. Nagel
// et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019), section 4.1, with ranges
// seen on samples.
#ifndef OCTAVO_QUANTIZE_EQUALIZE_H_
#define OCTAVO_QUANTIZE_EQUALIZE_H_

#include "graph/graph.h"
#include "quantize/quantize.h"

namespace octavo {

// By name of the first convolution's result: what each channel is divided by. Looks at up to 32 of the samples; takes
// none where nothing can be moved. `skip` as in QuantizeOptions: such nodes are left alone. A channel that a clip cuts
// off keeps its size. Errors: those of the samples.
Result<ChannelFactors> find_factors(const Graph& graph, const std::vector<std::string>& skip, const SampleRuns& runs);

// Moves the factors, whatever is skipped by now: the network in floats stays the same. Those of unknown names are left.
// Returns what every wire that is changed is divided by, by its name.
ChannelFactors move_factors(Graph& graph, const ChannelFactors& factors);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_EQUALIZE_H_
