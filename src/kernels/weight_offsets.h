// The offsets of a quantized_conv's weights, as its kernels see them at compile time. Part of kernels/.
#ifndef OCTAVO_KERNELS_WEIGHT_OFFSETS_H_
#define OCTAVO_KERNELS_WEIGHT_OFFSETS_H_

#include <string>

#include "kernels/kernel.h"

namespace octavo {

// The constant w_offset of the call, or nullptr where it is left out.
const Tensor* weight_offsets(const OpCall& call);
// Why weights with their offsets do not fit the 16 bits that a kernel keeps them in, and products of pairs 32; empty
// where they do.
std::string wide_offsets_refusal(const OpCall& call);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WEIGHT_OFFSETS_H_
