// Balancing what attention looks at: the channels of values share a scale, so one whose values are small is rounded
// coarsely, and so it is behind the attention. A factor per channel moves from the product that makes values into those
// that read the result: the network stays the same. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_BALANCE_VALUES_H_
#define OCTAVO_QUANTIZE_BALANCE_VALUES_H_

#include "graph/graph.h"
#include "quantize/quantize.h"

namespace octavo {

// By name of what the attention gives: what each column of the values of its groups of heads is divided by,
// [kv_heads * value_size]. Looks at up to 32 of the samples; takes none where nothing can be moved. `skip` as in
// QuantizeOptions: such nodes are left alone. Errors: those of the samples.
Result<ChannelFactors> find_value_balance(const Graph& graph, const std::vector<std::string>& skip,
                                          const SampleSource& samples);

// Moves the factors, whatever is skipped by now. Those of unknown names, or of another number of channels, are left.
// Returns what every wire that is changed is divided by, by its name.
Result<ChannelFactors> balance_values(Graph& graph, const ChannelFactors& factors);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_BALANCE_VALUES_H_
