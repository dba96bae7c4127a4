// Joins the codes of the kernel families and of the libraries that this program links. Part of kernels/.
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
#include "kernels/kernel.h"
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

// Of octavo_onednn and octavo_cuda, where they are linked: weak, so that a program without them links too and finds
// null.
extern "C" [[gnu::weak]] const octavo::KernelLibrary* octavo_onednn_library();
extern "C" [[gnu::weak]] const octavo::KernelLibrary* octavo_cuda_library();

namespace octavo {
namespace {

const KernelLibrary* onednn() { return octavo_onednn_library == nullptr ? nullptr : octavo_onednn_library(); }
const KernelLibrary* cuda() { return octavo_cuda_library == nullptr ? nullptr : octavo_cuda_library(); }

std::vector<const KernelCode*> join_families() {
  std::vector<const KernelCode*> codes;
  const auto add = [&](std::span<const KernelCode> family) {
    for (const KernelCode& code : family) codes.push_back(&code);
  };
  add(argmax_codes());
  add(argmax_pool_codes());
  add(gather_bytes_codes());
  add(half_codes());
  add(arrange_codes());
  add(batch_norm_codes());
  add(attention_codes());
  add(channel_table_codes());
  add(conv_codes());
  add(copy_codes());
  add(counted_codes());
  add(depthwise_codes());
  add(depthwise_vnni_codes());
  add(dynamic_quantize_codes());
  add(row_requantize_codes());
  add(float_conv_codes());
  add(float_depthwise_codes());
  add(float_eltwise_codes());
  add(float_fused_conv_codes());
  add(integer_eltwise_codes());
  add(grid_sample_codes());
  add(hybrid_conv_codes());
  add(integer_attention_codes());
  add(integer_norm_codes());
  add(integer_resize_codes());
  add(layer_norm_codes());
  add(lrn_codes());
  add(plain_hybrid_codes());
  add(plain_codes());
  add(plain_transposed_codes());
  add(pool_codes());
  add(product_codes());
  add(quantize_any_codes());
  add(quantize_codes());
  add(quantized_eltwise_codes());
  add(s16_eltwise_codes());
  add(fixed_lstm_codes());
  add(full_lstm_codes());
  add(recurrence_codes());
  add(reduce_codes());
  add(byte_product_codes());
  add(byte_softmax_codes());
  add(reference_codes());
  add(resize_codes());
  add(resize_linear_codes());
  add(resize_weighted_codes());
  add(roi_align_codes());
  add(scatter_codes());
  add(sliced_codes());
  add(softmax_codes());
  add(table_codes());
  add(topk_codes());
  add(cast_codes());
  add(transpose_codes());
  add(winograd_codes());
  for (const KernelLibrary* library : {onednn(), cuda()}) {
    if (library == nullptr) continue;
    for (const std::span<const KernelCode> family : library->families) add(family);
  }
  return codes;
}

}  // namespace

std::span<const KernelCode* const> all_codes() {
  static const std::vector<const KernelCode*> codes = join_families();
  return codes;
}

std::string_view library_of(std::string_view kernel) {
  if (kernel.ends_with("_onednn")) return "octavo_onednn";
  for (const std::string_view of_device : {"_cuda", "_cudnn", "_cublaslt"}) {
    if (kernel.ends_with(of_device)) return "octavo_cuda";
  }
  return "";
}

void prepare_thread() noexcept {
  if (const KernelLibrary* library = onednn()) library->prepare_thread();
}

}  // namespace octavo
