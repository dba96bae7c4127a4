// Fixed-point kernels: sums as 8-bit values, and sums, differences and products of two quantized values. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_FIXED_FIXED_H_
#define OCTAVO_KERNELS_FIXED_FIXED_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> fixed_binary_codes();
std::span<const KernelChoice> fixed_binary_choices();
std::span<const KernelCode> fixed_requantize_codes();
std::span<const KernelChoice> fixed_requantize_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_FIXED_FIXED_H_
