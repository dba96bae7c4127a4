// Smoothing: what a normalisation gives has channels many times as large as the others, and products of bytes read all
// of them with one scale. A factor per channel moves from the normalisation's own scale and bias into the weights of
// the products: the network stays the same, and its channels become alike. Part of quantize/. Xiao et al.,
// "SmoothQuant" (2022), with three quarters of the difference moved.
#ifndef OCTAVO_QUANTIZE_SMOOTH_H_
#define OCTAVO_QUANTIZE_SMOOTH_H_

#include "graph/graph.h"
#include "quantize/quantize.h"

namespace octavo {

// By name of what the normalisation gives: what each channel is divided by for the products that read it. Looks at up
// to 32 of the samples; takes none where nothing can be moved. `skip` as in QuantizeOptions: such products read the
// normalisation as it is, and such normalisations are left alone. Errors: those of the samples.
Result<ChannelFactors> find_smoothing(const Graph& graph, const std::vector<std::string>& skip, const SampleRuns& runs);

// Where the factors go: into a normalisation of the products' own, beside the one that other nodes read, or into a
// multiplication of what it gives, which is part of making rows of it.
enum class Smoothed : std::uint8_t { norm, rows };

// Gives products a wire that is divided by the factors: "NAME/smoothed". The network in floats stays the same. Factors
// of unknown names, or of another number of channels, are left. Returns what every new wire is divided by, by its name.
Result<ChannelFactors> smooth(Graph& graph, const std::vector<std::string>& skip, const ChannelFactors& factors,
                              Smoothed where = Smoothed::norm);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SMOOTH_H_
