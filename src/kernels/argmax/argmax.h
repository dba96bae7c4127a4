// argmax of f32 and bytes. Part of kernels/.
#ifndef OCTAVO_KERNELS_ARGMAX_ARGMAX_H_
#define OCTAVO_KERNELS_ARGMAX_ARGMAX_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> argmax_codes();
std::span<const KernelChoice> argmax_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ARGMAX_ARGMAX_H_
