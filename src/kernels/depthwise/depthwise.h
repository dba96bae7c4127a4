// Kernels of quantized_conv where every group has one input channel. Part of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_DEPTHWISE_H_
#define OCTAVO_KERNELS_DEPTHWISE_DEPTHWISE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> depthwise_kernels();
std::span<const Kernel> depthwise_vnni_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_DEPTHWISE_H_
