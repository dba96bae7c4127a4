// cast between f32 and floats of 16 bits. Part of kernels/.
#ifndef OCTAVO_KERNELS_HALVES_HALVES_H_
#define OCTAVO_KERNELS_HALVES_HALVES_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> half_codes();
std::span<const KernelChoice> half_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_HALVES_HALVES_H_
