// Elements of a result and where operands have theirs: broadcast, or with other axes. Part of cuda/.
#ifndef OCTAVO_CUDA_STRIDED_H_
#define OCTAVO_CUDA_STRIDED_H_

#include <optional>
#include <span>
#include <vector>

#include "base/shape.h"
#include "cuda/arguments.h"

namespace octavo::cuda {

// An axis of the result, with the distance between neighbours along it in each operand, in elements.
struct StridedAxis {
  std::int64_t size = 1, x = 0, other = 0, third = 0;
};

// Axes of size 1 are dropped, neighbours merged where all operands allow it. Nothing where more than kMostAxes are
// left.
std::optional<StridedArgs> strided_args(std::span<const StridedAxis> axes);
// The axes of operands that broadcast to `result` as in numpy; where there is no third, its strides are those of a
// single element.
std::vector<StridedAxis> broadcast_axes(const Shape& result, const Shape& x, const Shape& other,
                                        const Shape& third = {});

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_STRIDED_H_
