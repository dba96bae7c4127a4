// Attention of quantized values. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_ATTENTION_H_
#define OCTAVO_LOWER_RULES_FUSE_ATTENTION_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> attention -> quantize: quantized_attention. The weights between are not rounded as a file says: there
// is no file that says how, since attention is one node here.
Match fuse_attention(const Graph& graph, const Node& node);

// The same, but for what a file with scales of its own has in floats: one that says its roundings operator by operator
// (profile pt2e) has none inside.
Match fuse_attention_of_quantizer(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_ATTENTION_H_
