// Attention of 8-bit queries, keys and values. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_INTEGER_ATTENTION_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_INTEGER_ATTENTION_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> integer_attention_codes();
std::span<const KernelChoice> integer_attention_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_INTEGER_ATTENTION_H_
