// A convolution, plain or transposed, before another operator. Part of lower/.
#ifndef OCTAVO_LOWER_CONVOLUTION_H_
#define OCTAVO_LOWER_CONVOLUTION_H_

#include "graph/graph.h"

namespace octavo {

struct Convolution {
  const Node* node = nullptr;  // its weights have their output channels on axis 0
  int channel_axis = 1;        // of its result
};

// The one that makes the wire; without a node where none does.
Convolution convolution_before(const Graph& graph, ValueId wire);

}  // namespace octavo

#endif  // OCTAVO_LOWER_CONVOLUTION_H_
