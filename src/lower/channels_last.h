// Image operators get their channels last; transposes that the file needs for its own order of axes disappear on the
// way. Part of lower/.
#ifndef OCTAVO_LOWER_CHANNELS_LAST_H_
#define OCTAVO_LOWER_CHANNELS_LAST_H_

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

// Rewrites the whole graph in one walk: convolutions and pools become channels_last, the order of axes is carried
// through everything that does not care (with attributes remapped), the file's own transposes are carried along instead
// of computed, and a transpose is inserted only where an order is needed that is not there. One-dimensional
// convolutions and pools become two-dimensional ones of height 1. Inputs and outputs of the graph keep their shapes.
Status make_channels_last(Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_LOWER_CHANNELS_LAST_H_
