// Kernels in plain loops, of operators without a family of their own and for machines without vectors. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_PLAIN_PLAIN_H_
#define OCTAVO_KERNELS_PLAIN_PLAIN_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

std::span<const Kernel> plain_hybrid_kernels();
std::span<const Kernel> plain_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_PLAIN_PLAIN_H_
