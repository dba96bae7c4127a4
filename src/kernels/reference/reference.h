// The kernel "reference": runs any operator's scalar reference as one step. Part of kernels/.
#ifndef OCTAVO_KERNELS_REFERENCE_REFERENCE_H_
#define OCTAVO_KERNELS_REFERENCE_REFERENCE_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> reference_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_REFERENCE_REFERENCE_H_
