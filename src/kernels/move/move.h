// Kernels that move elements without computing (but for what a scatter may join): reshape, slice, pad, expand, nearest
// resize, gather, scatter, concat, transpose. Any element type. Part of kernels/.
#ifndef OCTAVO_KERNELS_MOVE_MOVE_H_
#define OCTAVO_KERNELS_MOVE_MOVE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> copy_codes();  // bitcast, reshape, slice, pad, expand, nearest resize
std::span<const KernelChoice> copy_choices();
std::span<const KernelCode> arrange_codes();  // concat, gather, gather_elements, gather_nd
std::span<const KernelChoice> arrange_choices();
std::span<const KernelCode> scatter_codes();  // scatter_elements, scatter_nd
std::span<const KernelChoice> scatter_choices();
std::span<const KernelCode> transpose_codes();
std::span<const KernelChoice> transpose_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_MOVE_MOVE_H_
