// Explicit padding becomes the window's own. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_PAD_INTO_WINDOW_H_
#define OCTAVO_LOWER_RULES_PAD_INTO_WINDOW_H_

#include "graph/patch.h"

namespace octavo {

// conv(pad(x, 0)) and max_pool(pad(x, -inf)), with padding of the spatial axes only.
Match pad_into_window(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_PAD_INTO_WINDOW_H_
