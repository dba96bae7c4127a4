// Strides of a mask over scores. Part of kernels/.
#include "kernels/attention_mask.h"

#include "ops/movement.h"

namespace octavo {

AttentionMaskLayout AttentionMaskLayout::of(const Shape& mask, const Shape& scores) {
  const std::vector<std::int64_t> strides = broadcast_strides(mask, scores);
  const auto images = static_cast<std::ptrdiff_t>(strides.size()) - 3;
  const auto after = strides.begin() + images;
  return {.batch = {scores.begin(), scores.begin() + images},
          .batch_strides = {strides.begin(), after},
          .head_stride = after[0],
          .query_stride = after[1],
          .key_stride = after[2]};
}

}  // namespace octavo
