// Kernels of resize: nearest for any type, linear for f32 and 8 bit. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_RESIZE_H_
#define OCTAVO_KERNELS_RESIZE_RESIZE_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> integer_resize_codes();
std::span<const KernelChoice> integer_resize_choices();
std::span<const KernelCode> resize_codes();
std::span<const KernelChoice> resize_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_RESIZE_H_
