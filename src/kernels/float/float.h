// Kernels of float islands, with the reference's bits on every machine: sums in the reference's order, in f64 but for
// float_depthwise and fused_conv. Part of kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_FLOAT_H_
#define OCTAVO_KERNELS_FLOAT_FLOAT_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> float_conv_codes();
std::span<const KernelChoice> float_conv_choices();
std::span<const KernelCode> float_fused_conv_codes();
std::span<const KernelChoice> float_fused_conv_choices();
std::span<const KernelCode> float_depthwise_codes();
std::span<const KernelChoice> float_depthwise_choices();
std::span<const KernelCode> product_codes();  // matmul, matmul_integer, quantized_matmul
std::span<const KernelChoice> product_choices();
std::span<const KernelCode> batch_norm_codes();
std::span<const KernelChoice> batch_norm_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_FLOAT_H_
