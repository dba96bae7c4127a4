// Element-wise kernels: quantized_elementwise, f32 binary and unary functions. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_ELTWISE_H_
#define OCTAVO_KERNELS_ELTWISE_ELTWISE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> quantized_eltwise_codes();
std::span<const KernelChoice> quantized_eltwise_choices();
std::span<const KernelCode> s16_eltwise_codes();
std::span<const KernelChoice> s16_eltwise_choices();
std::span<const KernelCode> float_eltwise_codes();
std::span<const KernelChoice> float_eltwise_choices();
std::span<const KernelCode> integer_eltwise_codes();
std::span<const KernelChoice> integer_eltwise_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_ELTWISE_H_
