// Token ids from a seed: what stands in for samples of a network that looks rows of tables up. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_DRAWN_IDS_H_
#define OCTAVO_QUANTIZE_DRAWN_IDS_H_

#include <cstdint>
#include <memory>

#include "quantize/quantize.h"

namespace octavo {

inline constexpr std::int64_t kDrawnSamples = 64;

// For a graph of known sizes all of whose inputs are integers: those that, moved or cast, index the rows of a constant
// table get any of the rows of the smallest one, each as likely; others, masks, are ones. The same on every machine.
// Nothing where there is another input, no such index, or an empty table.
std::shared_ptr<const SampleSource> drawn_ids(const Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_DRAWN_IDS_H_
