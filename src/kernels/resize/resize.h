// Kernels of resize: nearest for any type, linear for f32 and 8 bit. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_RESIZE_H_
#define OCTAVO_KERNELS_RESIZE_RESIZE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> integer_resize_kernels();
std::span<const Kernel> resize_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_RESIZE_H_
