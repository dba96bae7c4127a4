// Kernels that move elements without computing: reshape, slice, pad, expand, nearest resize, gather, concat, transpose.
// Any element type. Part of kernels/.
#ifndef OCTAVO_KERNELS_MOVE_MOVE_H_
#define OCTAVO_KERNELS_MOVE_MOVE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> copy_kernels();     // reshape, slice, pad, expand, nearest resize
std::span<const Kernel> arrange_kernels();  // concat, gather
std::span<const Kernel> transpose_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_MOVE_MOVE_H_
