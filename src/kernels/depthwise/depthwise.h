// Kernels of quantized_conv where every group has one input channel. Part of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_DEPTHWISE_H_
#define OCTAVO_KERNELS_DEPTHWISE_DEPTHWISE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> depthwise_codes();
std::span<const KernelChoice> depthwise_choices();
std::span<const KernelCode> depthwise_vnni_codes();
std::span<const KernelChoice> depthwise_vnni_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_DEPTHWISE_H_
