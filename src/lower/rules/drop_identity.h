// Removes nodes that change nothing. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_DROP_IDENTITY_H_
#define OCTAVO_LOWER_RULES_DROP_IDENTITY_H_

#include "graph/patch.h"

namespace octavo {

// Identities, reshapes to the same shape, transposes of nothing, slices of everything and the like; pairs of reshapes
// and of transposes become one.
Match drop_identity(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_DROP_IDENTITY_H_
