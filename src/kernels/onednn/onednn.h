// The f32 kernels that call oneDNN. Part of kernels/.
//
// Which instructions oneDNN uses is its own choice at load time, the best the host has, whatever the model was compiled
// for: its limit (dnnl_set_max_cpu_isa) belongs to the process, not to a model. Results therefore agree between
// machines to f32 rounding, not to the bit.
//
// Built with OpenMP, oneDNN is called with one OpenMP thread from the executor's threads; steps cut the work
// themselves. Primitives, memory objects and scratch sizes are made in prepare. A call of a primitive allocates some
// seven small blocks inside oneDNN 2.6 (its table of arguments), which no interface of it avoids.
#ifndef OCTAVO_KERNELS_ONEDNN_ONEDNN_H_
#define OCTAVO_KERNELS_ONEDNN_ONEDNN_H_

#include <span>

#include "kernels/kernel.h"

namespace octavo {

// fused_conv with constant weights.
std::span<const Kernel> onednn_conv_kernels();
// matmul with a constant second operand, and fused_conv of a few pixels.
std::span<const Kernel> onednn_dense_kernels();
// unary, where no kernel of ours has the function.
std::span<const Kernel> onednn_eltwise_kernels();

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ONEDNN_ONEDNN_H_
