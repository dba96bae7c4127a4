// The f32 kernels that call oneDNN. Part of onednn/.
//
// Which instructions oneDNN uses is its own choice at load time, the best the host has, whatever the model was compiled
// for: its limit (dnnl_set_max_cpu_isa) belongs to the process, not to a model. Results therefore agree between
// machines to f32 rounding, not to the bit.
//
// Built with OpenMP, oneDNN is called with one OpenMP thread from the executor's threads; steps cut the work
// themselves. Primitives, memory objects and scratch sizes are made in prepare. A call of a primitive allocates some
// seven small blocks inside oneDNN 2.6 (its table of arguments), which no interface of it avoids.
#ifndef OCTAVO_ONEDNN_ONEDNN_H_
#define OCTAVO_ONEDNN_ONEDNN_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

// fused_conv with constant weights.
std::span<const KernelCode> onednn_conv_codes();
std::span<const KernelChoice> onednn_conv_choices();
// matmul with a constant second operand, and fused_conv of a few pixels.
std::span<const KernelCode> onednn_dense_codes();
std::span<const KernelChoice> onednn_dense_choices();
// matmul of two variables.
std::span<const KernelCode> onednn_product_codes();
std::span<const KernelChoice> onednn_product_choices();
// unary, where no kernel of ours has the function.
std::span<const KernelCode> onednn_eltwise_codes();
std::span<const KernelChoice> onednn_eltwise_choices();

}  // namespace octavo

// Found by kernels/code_list.cpp wherever it is linked; a C name, so that a linker can be asked for it. Null where
// oneDNN itself is only looked for when the program runs, and is not there.
extern "C" const octavo::KernelLibrary* octavo_onednn_library();

#endif  // OCTAVO_ONEDNN_ONEDNN_H_
