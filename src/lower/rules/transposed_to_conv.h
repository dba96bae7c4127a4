// Transposed convolutions become convolutions. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_TRANSPOSED_TO_CONV_H_
#define OCTAVO_LOWER_RULES_TRANSPOSED_TO_CONV_H_

#include "graph/patch.h"

namespace octavo {

// A conv_transpose of stride s gives s results per pixel and axis, its phases, each a sum over every s-th tap: one
// convolution of stride 1 whose output channels are all phases, a transpose that puts them beside each other, and a
// slice where the padding does not end with a phase. Needs constant weights, also behind a dequantize, and padding
// known at compile time.
Match transposed_to_conv(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_TRANSPOSED_TO_CONV_H_
