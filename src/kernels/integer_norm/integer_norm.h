// Normalisation of stored values along their lines: quantized_layer_norm. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_NORM_INTEGER_NORM_H_
#define OCTAVO_KERNELS_INTEGER_NORM_INTEGER_NORM_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> integer_norm_codes();
std::span<const KernelChoice> integer_norm_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_NORM_INTEGER_NORM_H_
