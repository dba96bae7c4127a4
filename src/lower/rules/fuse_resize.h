// Bilinear interpolation of quantized images. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_RESIZE_H_
#define OCTAVO_LOWER_RULES_FUSE_RESIZE_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> linear resize of height and width -> quantize with the same scale and a profile of TFLite becomes
// integer_resize.
Match fuse_resize(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_RESIZE_H_
