// Kernels of float islands, with the reference's bits on every machine: sums in the reference's order, in f64 but for
// float_depthwise. Part of kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_FLOAT_H_
#define OCTAVO_KERNELS_FLOAT_FLOAT_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> float_conv_kernels();  // conv, fused_conv
std::span<const Kernel> float_depthwise_kernels();
std::span<const Kernel> product_kernels();     // matmul, matmul_integer, quantized_matmul
std::span<const Kernel> float_norm_kernels();  // batch_norm, layer_norm, reduce

}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_FLOAT_H_
