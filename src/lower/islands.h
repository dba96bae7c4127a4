// What stays in floating point inside an int8 model, and why. Part of lower/.
#ifndef OCTAVO_LOWER_ISLANDS_H_
#define OCTAVO_LOWER_ISLANDS_H_

#include <vector>

#include "graph/graph.h"
#include "graph/patch.h"
#include "lower/lower.h"

namespace octavo {

// The nodes of the lowered graph that compute with floats. Reasons are those that the passes gave when they refused a
// node.
std::vector<Island> find_islands(const Graph& graph, const std::vector<PassReport>& passes);

}  // namespace octavo

#endif  // OCTAVO_LOWER_ISLANDS_H_
