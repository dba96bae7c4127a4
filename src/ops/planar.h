// Which convolutions over three axes, of which the first may be time or depth, are the same sums over two. Part of
// ops/.
#ifndef OCTAVO_OPS_PLANAR_H_
#define OCTAVO_OPS_PLANAR_H_

#include "ops/window.h"

namespace octavo {

// Three axes, and a kernel over the first one alone: the others keep their sizes.
bool is_over_first_axis(const Window& window);
// Three axes, and a kernel over the last two.
bool is_over_planes(const Window& window);
// Either of these, or of one group and with not so many planes that copies of x, one for each, would be more than they
// are worth. lower/planar_conv.h says how.
bool is_planar(const Window& window, std::int64_t groups);

// The role of a convolution, plain or transposed, which needs at most two axes, or three that are planar, to be
// quantized.
NodeRole role_of_planar_convolution(const Window& window, std::int64_t groups, InputFacts inputs);

}  // namespace octavo

#endif  // OCTAVO_OPS_PLANAR_H_
