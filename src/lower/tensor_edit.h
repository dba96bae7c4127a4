// Rearranging constant tensors at compile time. Part of lower/.
#ifndef OCTAVO_LOWER_TENSOR_EDIT_H_
#define OCTAVO_LOWER_TENSOR_EDIT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/op.h"

namespace octavo {

// As axes of a transpose: axis i of y is axis axes[i] of x.

Axes identity_axes(int rank);
bool is_identity(const Axes& axes);
// transpose(transpose(x, first), second) = transpose(x, compose(first, second))
Axes compose(const Axes& first, const Axes& second);
Axes inverse(const Axes& axes);
template <class Extent>
BasicShape<Extent> transposed_shape(const BasicShape<Extent>& shape, const Axes& axes) {
  std::vector<Extent> dims;
  for (const std::int64_t axis : axes) dims.push_back(shape[static_cast<int>(axis)]);
  return BasicShape<Extent>(dims);
}
// Only axes of size 1 change their place: the elements stay in their order.
bool keeps_element_order(const OpenShape& shape, const Axes& axes);

Tensor transposed(const Tensor& x, const Axes& axes);

// An f32 tensor of the same shape: y[i] = f(x[i]).
Tensor map_floats(const Tensor& x, const std::function<float(std::int64_t index, float value)>& f);

}  // namespace octavo

#endif  // OCTAVO_LOWER_TENSOR_EDIT_H_
