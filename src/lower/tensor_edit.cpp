// Rearranging constant tensors. Part of lower/.
#include "lower/tensor_edit.h"

#include <numeric>

#include "ops/movement.h"

namespace octavo {
Axes identity_axes(int rank) {
  Axes axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool is_identity(const Axes& axes) { return axes == identity_axes(static_cast<int>(axes.size())); }

Axes compose(const Axes& first, const Axes& second) {
  Axes both;
  for (std::int64_t axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
  return both;
}

Axes inverse(const Axes& axes) {
  Axes result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return result;
}

bool keeps_element_order(const OpenShape& shape, const Axes& axes) {
  std::int64_t last = -1;
  for (std::int64_t axis : axes) {
    if (is_one(shape[static_cast<int>(axis)])) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Tensor transposed(const Tensor& x, const Axes& axes) {
  const Shape shape = transposed_shape(x.shape(), axes);
  if (keeps_element_order(x.shape(), axes)) return x.reshaped(shape);
  Tensor y(x.dtype(), shape);
  const std::vector<std::int64_t> x_strides = x.shape().strides();
  std::vector<std::int64_t> strides;
  for (std::int64_t axis : axes) strides.push_back(x_strides[static_cast<std::size_t>(axis)]);
  copy_strided(x.view(), y.view(), strides, 0);
  return y;
}

Tensor map_floats(const Tensor& x, const std::function<float(std::int64_t, float)>& f) {
  Tensor y(DType::f32, x.shape());
  const float* from = x.as<float>();
  float* to = y.as<float>();
  const std::int64_t elements = x.elements();
  for (std::int64_t i = 0; i < elements; ++i) to[i] = f(i, from[i]);
  return y;
}

}  // namespace octavo
