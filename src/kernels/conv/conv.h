// The kernel family of `quantized_conv` and `hybrid_conv`: direct convolution by generated register tiles. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_CONV_CONV_H_
#define OCTAVO_KERNELS_CONV_CONV_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> conv_kernels();
std::span<const Kernel> hybrid_conv_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_CONV_H_
