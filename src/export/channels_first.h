// Operators whose channels come last, in the order of axes that ONNX has. Part of export/.
#ifndef OCTAVO_EXPORT_CHANNELS_FIRST_H_
#define OCTAVO_EXPORT_CHANNELS_FIRST_H_

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

// Puts transposes around convolutions and pools that are channels_last; constant weights, also behind a dequantize, are
// rearranged.
Status make_channels_first(Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_EXPORT_CHANNELS_FIRST_H_
