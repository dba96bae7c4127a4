// See strided.h. Part of cuda/.
#include "cuda/strided.h"

#include <algorithm>

namespace octavo::cuda {
namespace {

bool continues(const StridedAxis& outer, const StridedAxis& inner) {
  return outer.x == inner.x * inner.size && outer.other == inner.other * inner.size &&
         outer.third == inner.third * inner.size;
}

// Along the axis that is `from_end` before the last one.
std::int64_t stride_of(const Shape& operand, int from_end) {
  if (from_end >= operand.rank() || operand[operand.rank() - 1 - from_end] == 1) return 0;
  return operand.elements(operand.rank() - from_end, operand.rank());
}

}  // namespace

std::optional<StridedArgs> strided_args(std::span<const StridedAxis> axes) {
  std::vector<StridedAxis> merged;
  StridedArgs args{.elements = 1};
  for (const StridedAxis& axis : axes) {
    args.elements *= axis.size;
    if (axis.size == 1) continue;
    if (!merged.empty() && continues(merged.back(), axis))
      merged.back() = {merged.back().size * axis.size, axis.x, axis.other, axis.third};
    else merged.push_back(axis);
  }
  if (merged.size() > kMostAxes) return std::nullopt;
  std::fill_n(args.size, kMostAxes, 1);
  std::size_t at = kMostAxes - merged.size();
  for (const StridedAxis& axis : merged) {
    args.size[at] = axis.size, args.x_stride[at] = axis.x, args.other_stride[at] = axis.other;
    args.third_stride[at] = axis.third;
    ++at;
  }
  std::transform(args.size, args.size + kMostAxes, args.by_size, Divisor::of);
  return args;
}

std::vector<StridedAxis> broadcast_axes(const Shape& result, const Shape& x, const Shape& other, const Shape& third) {
  std::vector<StridedAxis> axes;
  for (int i = 0; i < result.rank(); ++i) {
    const int from_end = result.rank() - 1 - i;
    axes.push_back({result[i], stride_of(x, from_end), stride_of(other, from_end), stride_of(third, from_end)});
  }
  return axes;
}

}  // namespace octavo::cuda
