// Joins the kernel families; the only place that knows them all. Part of kernels/.
#include <algorithm>

#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/fixed/fixed.h"
#include "kernels/float/float.h"
#include "kernels/kernel.h"
#include "kernels/move/move.h"
#include "kernels/onednn/onednn.h"
#include "kernels/plain/plain.h"
#include "kernels/pool/pool.h"
#include "kernels/quantize/quantize.h"
#include "kernels/reference/reference.h"
#include "kernels/resize/resize.h"
#include "kernels/sliced/sliced.h"
#include "kernels/table/table.h"
#include "kernels/winograd/winograd.h"

namespace octavo {
namespace {

std::vector<const Kernel*> join_families() {
  std::vector<const Kernel*> kernels;
  const auto add = [&](std::span<const Kernel> family) {
    for (const Kernel& kernel : family) kernels.push_back(&kernel);
  };
  add(arrange_kernels());
  add(conv_kernels());
  add(copy_kernels());
  add(depthwise_kernels());
  add(depthwise_vnni_kernels());
  add(dynamic_quantize_kernels());
  add(fixed_binary_kernels());
  add(fixed_requantize_kernels());
  add(float_conv_kernels());
  add(float_depthwise_kernels());
  add(float_eltwise_kernels());
  add(float_norm_kernels());
  add(hybrid_conv_kernels());
  add(integer_resize_kernels());
  add(onednn_conv_kernels());
  add(onednn_dense_kernels());
  add(onednn_eltwise_kernels());
  add(plain_hybrid_kernels());
  add(plain_kernels());
  add(pool_kernels());
  add(product_kernels());
  add(quantize_kernels());
  add(quantized_eltwise_kernels());
  add(reference_kernels());
  add(resize_kernels());
  add(sliced_kernels());
  add(table_kernels());
  add(transpose_kernels());
  add(winograd_kernels());
  return kernels;
}

}  // namespace

std::span<const Kernel* const> all_kernels() {
  static const std::vector<const Kernel*> kernels = join_families();
  return kernels;
}

const Kernel* find_kernel(std::string_view name) {
  const auto kernels = all_kernels();
  const auto it =
      std::find_if(kernels.begin(), kernels.end(), [&](const Kernel* kernel) { return kernel->name == name; });
  return it == kernels.end() ? nullptr : *it;
}

}  // namespace octavo
