// nonzero: where elements are not 0. Part of ops/.
#ifndef OCTAVO_OPS_NONZERO_NONZERO_H_
#define OCTAVO_OPS_NONZERO_NONZERO_H_

#include "graph/op.h"

namespace octavo {

// results: the positions of all elements that are not 0, in row-major order, s64 [axes of x, at least 1; elements of
// x], of which [axes, count] are there, one row after the other, and zeros behind them; and that shape, s64 [2]. NaN is
// not 0. inputs: x.
extern const OpSpec kNonzero;

void find_nonzero(const ConstTensorView& x, OutputViews outputs);

}  // namespace octavo

#endif  // OCTAVO_OPS_NONZERO_NONZERO_H_
