// Where the mask of a query lies, for every kernel of attention. Part of kernels/.
#ifndef OCTAVO_KERNELS_ATTENTION_MASK_H_
#define OCTAVO_KERNELS_ATTENTION_MASK_H_

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace octavo {

// A mask as strides over scores, [batch..., heads, queries, keys]: 0 along an axis that it lacks.
struct AttentionMaskLayout {
  std::vector<std::int64_t> batch, batch_strides;
  std::int64_t head_stride = 0, query_stride = 0, key_stride = 0;

  static AttentionMaskLayout of(const Shape& mask, const Shape& scores);

  // Elements before the row of a query; `image` counts the batch.
  std::int64_t row(std::int64_t image, std::int64_t head, std::int64_t query) const {
    std::int64_t offset = head * head_stride + query * query_stride;
    for (std::size_t axis = batch.size(); axis-- > 0; image /= batch[axis])
      offset += image % batch[axis] * batch_strides[axis];
    return offset;
  }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ATTENTION_MASK_H_
