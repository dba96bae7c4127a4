// The contract of lines/: softmax, that of bytes, layer_norm, lrn and reduce of f32 along axes, with the reference's
// bits whatever the width of vectors: partial sums as base/partial_sums.h says. Part of kernels/.
#ifndef OCTAVO_KERNELS_LINES_LINES_H_
#define OCTAVO_KERNELS_LINES_LINES_H_

#include <cstdint>
#include <span>

#include "kernels/choice.h"
#include "kernels/lines/functions.h"

namespace octavo {

std::span<const KernelCode> softmax_codes();
std::span<const KernelChoice> softmax_choices();
std::span<const KernelCode> byte_softmax_codes();
std::span<const KernelChoice> byte_softmax_choices();
// What kernels of quantized_softmax pack, those of devices too (KernelChoice::pack, packed_layout): the exponentials.
std::vector<Tensor> pack_softmax_exponentials(const OpCall& call);
std::vector<std::int64_t> softmax_exponentials_layout(const OpCall& call);
std::span<const KernelCode> layer_norm_codes();
std::span<const KernelChoice> layer_norm_choices();
std::span<const KernelCode> lrn_codes();
std::span<const KernelChoice> lrn_choices();
std::span<const KernelCode> reduce_codes();
std::span<const KernelChoice> reduce_choices();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_LINES_LINES_H_
