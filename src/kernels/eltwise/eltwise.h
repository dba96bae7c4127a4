// Element-wise kernels: quantized add and mul, f32 binary and unary functions. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_ELTWISE_H_
#define OCTAVO_KERNELS_ELTWISE_ELTWISE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> quantized_eltwise_kernels();
std::span<const Kernel> float_eltwise_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_ELTWISE_H_
