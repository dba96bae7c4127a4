// Kernels between f32 and 8 bit: quantize and dequantize, per tensor and per axis, with scales given or found. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_QUANTIZE_QUANTIZE_H_
#define OCTAVO_KERNELS_QUANTIZE_QUANTIZE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> dynamic_quantize_kernels();
std::span<const Kernel> quantize_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_QUANTIZE_QUANTIZE_H_
