// Joins the kernel families of all libraries as the planner sees them. Part of planner/.
#include "planner/choice_list.h"

#include <algorithm>

#include "cuda/cuda.h"
#include "kernels/argmax/argmax.h"
#include "kernels/attention/attention.h"
#include "kernels/byte_product/byte_product.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/float/float.h"
#include "kernels/halves/halves.h"
#include "kernels/integer_attention/integer_attention.h"
#include "kernels/integer_norm/integer_norm.h"
#include "kernels/lines/lines.h"
#include "kernels/move/move.h"
#include "kernels/plain/plain.h"
#include "kernels/pool/pool.h"
#include "kernels/quantize/quantize.h"
#include "kernels/recurrence/recurrence.h"
#include "kernels/reference/reference.h"
#include "kernels/resize/resize.h"
#include "kernels/sampling/sampling.h"
#include "kernels/sliced/sliced.h"
#include "kernels/table/channel_table.h"
#include "kernels/table/table.h"
#include "kernels/winograd/winograd.h"
#include "onednn/onednn.h"

namespace octavo {
namespace {

std::vector<const KernelChoice*> join_families() {
  std::vector<const KernelChoice*> choices;
  const auto add = [&](std::span<const KernelChoice> family) {
    for (const KernelChoice& choice : family) choices.push_back(&choice);
  };
  add(argmax_choices());
  add(argmax_pool_choices());
  add(gather_bytes_choices());
  add(half_choices());
  add(arrange_choices());
  add(batch_norm_choices());
  add(attention_choices());
  add(channel_table_choices());
  add(conv_choices());
  add(copy_choices());
  add(counted_choices());
  add(cuda_attention_choices());
  add(cuda_conv_choices());
  add(cuda_depthwise_choices());
  add(cuda_element_choices());
  add(cuda_float_choices());
  add(cuda_float_conv_choices());
  add(cuda_float_depthwise_choices());
  add(cuda_hybrid_conv_choices());
  add(cuda_library_conv_choices());
  add(cuda_line_choices());
  add(cuda_move_choices());
  add(cuda_pool_choices());
  add(cuda_product_choices());
  add(cuda_resize_choices());
  add(cuda_row_scale_choices());
  add(depthwise_choices());
  add(depthwise_vnni_choices());
  add(dynamic_quantize_choices());
  add(row_requantize_choices());
  add(float_conv_choices());
  add(float_depthwise_choices());
  add(float_eltwise_choices());
  add(float_fused_conv_choices());
  add(integer_eltwise_choices());
  add(grid_sample_choices());
  add(hybrid_conv_choices());
  add(integer_attention_choices());
  add(integer_norm_choices());
  add(integer_resize_choices());
  add(layer_norm_choices());
  add(lrn_choices());
  if (octavo_onednn_library() != nullptr) {
    add(onednn_conv_choices());
    add(onednn_dense_choices());
    add(onednn_eltwise_choices());
    add(onednn_product_choices());
  }
  add(plain_hybrid_choices());
  add(plain_choices());
  add(plain_transposed_choices());
  add(pool_choices());
  add(product_choices());
  add(quantize_any_choices());
  add(quantize_choices());
  add(quantized_eltwise_choices());
  add(s16_eltwise_choices());
  add(fixed_lstm_choices());
  add(full_lstm_choices());
  add(recurrence_choices());
  add(reduce_choices());
  add(byte_product_choices());
  add(byte_softmax_choices());
  add(reference_choices());
  add(resize_choices());
  add(resize_linear_choices());
  add(resize_weighted_choices());
  add(roi_align_choices());
  add(scatter_choices());
  add(sliced_choices());
  add(softmax_choices());
  add(table_choices());
  add(topk_choices());
  add(cast_choices());
  add(transpose_choices());
  add(winograd_choices());
  return choices;
}

}  // namespace

std::span<const KernelChoice* const> all_choices() {
  static const std::vector<const KernelChoice*> choices = join_families();
  return choices;
}

const KernelChoice* find_choice(std::string_view name) {
  const auto choices = all_choices();
  const auto it = std::find_if(choices.begin(), choices.end(),
                               [&](const KernelChoice* choice) { return choice->code.name == name; });
  return it == choices.end() ? nullptr : *it;
}

}  // namespace octavo
