// Kernels of argmax_pool, average_pool, max_pool and quantized_pool. Part of kernels/.
#ifndef OCTAVO_KERNELS_POOL_POOL_H_
#define OCTAVO_KERNELS_POOL_POOL_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> argmax_pool_codes();
std::span<const KernelChoice> argmax_pool_choices();
std::span<const KernelCode> pool_codes();
std::span<const KernelChoice> pool_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_POOL_POOL_H_
