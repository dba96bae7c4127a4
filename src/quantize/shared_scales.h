// Which wires have one scale. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_SHARED_SCALES_H_
#define OCTAVO_QUANTIZE_SHARED_SCALES_H_

#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"

namespace octavo {

// By ValueId: the wire whose scale each one takes (itself where it has its own), given roles and pairs. What only moves
// elements keeps the scale; of concatenations, inputs take that of the result.
std::vector<ValueId> shared_scales(const Graph& graph, const Placement& placement);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SHARED_SCALES_H_
