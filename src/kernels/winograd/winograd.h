// The kernel family that computes 3x3 convolutions of stride 1 by an exact Winograd transform in 16-bit integers. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_WINOGRAD_WINOGRAD_H_
#define OCTAVO_KERNELS_WINOGRAD_WINOGRAD_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> winograd_codes();
std::span<const KernelChoice> winograd_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_WINOGRAD_H_
