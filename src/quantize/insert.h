// Inserting quantize/dequantize pairs where a placement says. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_INSERT_H_
#define OCTAVO_QUANTIZE_INSERT_H_

#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/scales.h"

namespace octavo {

// `scales`: by ValueId, used for the wires with pairs. Of `calibrated` the bias corrections and the weights are used.
// Inputs and outputs keep names and order, and their types with Ends::floats; with Ends::integers those with pairs are
// 8-bit.
Result<Graph> insert_pairs(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                           const Calibrated& calibrated, Ends ends = Ends::floats);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_INSERT_H_
