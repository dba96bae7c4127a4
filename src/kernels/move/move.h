// Kernels that move elements without computing: reshape, slice, pad, expand, nearest resize, gather, concat, transpose.
// Any element type. Part of kernels/.
#ifndef OCTAVO_KERNELS_MOVE_MOVE_H_
#define OCTAVO_KERNELS_MOVE_MOVE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> copy_codes();  // reshape, slice, pad, expand, nearest resize
std::span<const KernelChoice> copy_choices();
std::span<const KernelCode> arrange_codes();  // concat, gather, gather_elements
std::span<const KernelChoice> arrange_choices();
std::span<const KernelCode> transpose_codes();
std::span<const KernelChoice> transpose_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_MOVE_MOVE_H_
