// Transposes that undo each other. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_CANCEL_MOVES_H_
#define OCTAVO_LOWER_RULES_CANCEL_MOVES_H_

#include "graph/patch.h"

namespace octavo {

// Transposes and reshapes in a row that leave the elements in their order become one reshape.
Match cancel_moves(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_CANCEL_MOVES_H_
