// Normalisation of quantized values. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_LAYER_NORM_H_
#define OCTAVO_LOWER_RULES_FUSE_LAYER_NORM_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> layer_norm -> quantize: one quantized_layer_norm for each quantize that reads it. Bytes and s16.
Match fuse_layer_norm(const Graph& graph, const Node& node);

// dequantize -> layer_norm that somebody reads in f32: a quantized_layer_norm that gives f32.
Match layer_norm_to_f32(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_LAYER_NORM_H_
