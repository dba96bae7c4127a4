// The kernel family of `quantized_conv` and `hybrid_conv`: direct convolution by generated register tiles. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_CONV_CONV_H_
#define OCTAVO_KERNELS_CONV_CONV_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> conv_codes();
std::span<const KernelChoice> conv_choices();
std::span<const KernelCode> hybrid_conv_codes();
std::span<const KernelChoice> hybrid_conv_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_CONV_H_
