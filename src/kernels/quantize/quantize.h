// Kernels between f32 and 8 bit: quantize and dequantize, per tensor and per axis, with scales given or found. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_QUANTIZE_QUANTIZE_H_
#define OCTAVO_KERNELS_QUANTIZE_QUANTIZE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> dynamic_quantize_codes();
std::span<const KernelChoice> dynamic_quantize_choices();
std::span<const KernelCode> quantize_any_codes();
std::span<const KernelChoice> quantize_any_choices();
std::span<const KernelCode> quantize_codes();
std::span<const KernelChoice> quantize_choices();
std::span<const KernelCode> row_requantize_codes();
std::span<const KernelChoice> row_requantize_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_QUANTIZE_QUANTIZE_H_
