// Scales by the names of tensors: what a report tells, and what a file asks for. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_WIRE_SCALES_H_
#define OCTAVO_QUANTIZE_WIRE_SCALES_H_

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/scales.h"

namespace octavo {

// Of every wire with a pair. `scales` by ValueId.
std::map<std::string, TensorScale> wire_scales(const Graph& graph, const Placement& placement,
                                               const std::vector<ActivationScale>& scales);

// Overrides `scales` by those known. Errors (usage), all at once: a name that the graph does not have; a wire whose
// scale differs from that of the wire it shares it with.
Status use_known_scales(const Graph& graph, const Placement& placement, const std::map<std::string, TensorScale>& known,
                        std::vector<ActivationScale>& scales);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_WIRE_SCALES_H_
