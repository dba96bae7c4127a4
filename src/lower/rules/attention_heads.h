// Heads of attention by columns instead of by axes. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_ATTENTION_HEADS_H_
#define OCTAVO_LOWER_RULES_ATTENTION_HEADS_H_

#include "graph/patch.h"

namespace octavo {

// Attention of one head whose leading axes hold the heads, q, k and v being reshaped and transposed from tensors in
// which the heads lie side by side, reads these tensors as they are: [batch..., T, columns], one for all three where
// files cut them from one product. Keys and values that are repeated for several heads are read by these. The result's
// heads lie side by side too; a transpose behind it, which the one of the file undoes, gives the old order. Products
// with scalars on the way go into the scale.
Match attention_heads(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_ATTENTION_HEADS_H_
