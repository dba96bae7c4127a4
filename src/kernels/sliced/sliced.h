// Kernels for operators that are rare in quantized networks: the operator's own scalar code, applied to slices of the
// leading axes in parallel. Only where that code touches every element a fixed number of times and never allocates.
// Part of kernels/.
#ifndef OCTAVO_KERNELS_SLICED_SLICED_H_
#define OCTAVO_KERNELS_SLICED_SLICED_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> sliced_codes();
std::span<const KernelChoice> sliced_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SLICED_SLICED_H_
