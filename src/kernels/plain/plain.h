// Kernels in plain loops, of operators without a family of their own and for machines without vectors. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_PLAIN_PLAIN_H_
#define OCTAVO_KERNELS_PLAIN_PLAIN_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> plain_hybrid_codes();
std::span<const KernelChoice> plain_hybrid_choices();
std::span<const KernelCode> plain_transposed_codes();
std::span<const KernelChoice> plain_transposed_choices();
std::span<const KernelCode> plain_codes();
std::span<const KernelChoice> plain_choices();
std::span<const KernelCode> counted_codes();
std::span<const KernelChoice> counted_choices();
std::span<const KernelCode> cast_codes();
std::span<const KernelChoice> cast_choices();
std::span<const KernelCode> topk_codes();
std::span<const KernelChoice> topk_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_PLAIN_PLAIN_H_
