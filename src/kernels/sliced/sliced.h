// Kernels for operators that are rare in quantized networks: the operator's own scalar code, applied to slices of the
// leading axes in parallel. Only where that code touches every element a fixed number of times and never allocates.
// Part of kernels/.
#ifndef OCTAVO_KERNELS_SLICED_SLICED_H_
#define OCTAVO_KERNELS_SLICED_SLICED_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> sliced_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SLICED_SLICED_H_
