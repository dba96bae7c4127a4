// Fixed-point kernels: sums as 8-bit values, and sums, differences and products of two quantized values. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_FIXED_FIXED_H_
#define OCTAVO_KERNELS_FIXED_FIXED_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> fixed_binary_kernels();
std::span<const Kernel> fixed_requantize_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_FIXED_FIXED_H_
