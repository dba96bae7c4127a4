// The kernels for CUDA devices, as plans choose and programs load them. Part of cuda/.
//
// Nothing here needs a device, a driver or nvcc: a plan for a device is made anywhere. What a device executes is
// compiled from cuda/device/ into a library of its own (docs/cuda.md).
#ifndef OCTAVO_CUDA_CUDA_H_
#define OCTAVO_CUDA_CUDA_H_

#include <span>

#include "kernels/choice.h"

namespace octavo {

// attention, quantized_attention
std::span<const KernelCode> cuda_attention_codes();
std::span<const KernelChoice> cuda_attention_choices();
// quantized_conv
std::span<const KernelCode> cuda_conv_codes();
std::span<const KernelChoice> cuda_conv_choices();
// quantized_conv with a channel of its own for each group
std::span<const KernelCode> cuda_depthwise_codes();
std::span<const KernelChoice> cuda_depthwise_choices();
// average_pool, max_pool, quantized_pool
std::span<const KernelCode> cuda_pool_codes();
std::span<const KernelChoice> cuda_pool_choices();
// fused_conv
std::span<const KernelCode> cuda_float_conv_codes();
std::span<const KernelChoice> cuda_float_conv_choices();
// The same by NVIDIA's libraries, in fp32 plans alone.
std::span<const KernelCode> cuda_library_conv_codes();
std::span<const KernelChoice> cuda_library_conv_choices();
// float_depthwise
std::span<const KernelCode> cuda_float_depthwise_codes();
std::span<const KernelChoice> cuda_float_depthwise_choices();
// hybrid_conv
std::span<const KernelCode> cuda_hybrid_conv_codes();
std::span<const KernelChoice> cuda_hybrid_conv_choices();
// matmul of f32, matmul_integer, quantized_matmul
std::span<const KernelCode> cuda_product_codes();
std::span<const KernelChoice> cuda_product_choices();
// integer_resize, resize
std::span<const KernelCode> cuda_resize_codes();
std::span<const KernelChoice> cuda_resize_choices();
// dynamic_quantize, row_quantize, row_requantize
std::span<const KernelCode> cuda_row_scale_codes();
std::span<const KernelChoice> cuda_row_scale_choices();
// binary and unary of f32, cast
std::span<const KernelCode> cuda_float_codes();
std::span<const KernelChoice> cuda_float_choices();
// softmax, layer_norm and reduce of f32, quantized_softmax, quantized_layer_norm
std::span<const KernelCode> cuda_line_codes();
std::span<const KernelChoice> cuda_line_choices();
// bitcast, concat, expand, gather, pad, reshape, slice, transpose, where
std::span<const KernelCode> cuda_move_codes();
std::span<const KernelChoice> cuda_move_choices();
// quantized_elementwise, table, quantize, dequantize
std::span<const KernelCode> cuda_element_codes();
std::span<const KernelChoice> cuda_element_choices();

}  // namespace octavo

// Found by kernels/code_list.cpp wherever it is linked, as onednn/ is.
extern "C" const octavo::KernelLibrary* octavo_cuda_library();

#endif  // OCTAVO_CUDA_CUDA_H_
