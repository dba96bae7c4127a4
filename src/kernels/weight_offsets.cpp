// See weight_offsets.h. Part of kernels/.
#include "kernels/weight_offsets.h"

#include <algorithm>

#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {

const Tensor* weight_offsets(const OpCall& call) {
  return call.inputs.size() > kConvOffset && call.inputs[kConvOffset] != nullptr
             ? call.inputs[kConvOffset]->constant.get()
             : nullptr;
}

std::string wide_offsets_refusal(const OpCall& call) {
  const Tensor* offsets = weight_offsets(call);
  if (offsets == nullptr) return {};
  const auto values = offsets->span<std::int32_t>();
  const bool fit =
      std::all_of(values.begin(), values.end(), [](std::int32_t offset) { return offset >= -255 && offset <= 255; });
  return fit ? "" : "needs weight offsets of at most 255";
}

}  // namespace octavo
