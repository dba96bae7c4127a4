// Rearranging constant tensors. Part of lower/.
#include "lower/tensor_edit.h"

#include <cstddef>
#include <cstring>
#include <numeric>

namespace octavo {
namespace {

// Copies `count` elements of `size` bytes that lie `stride` elements apart into consecutive places.
template <std::size_t size>
void gather_row(std::byte* to, const std::byte* from, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(size), from + i * stride * static_cast<std::int64_t>(size), size);
}

void gather_row(std::size_t size, std::byte* to, const std::byte* from, std::int64_t count, std::int64_t stride) {
  switch (size) {
    case 1: return gather_row<1>(to, from, count, stride);
    case 2: return gather_row<2>(to, from, count, stride);
    case 4: return gather_row<4>(to, from, count, stride);
    default: return gather_row<8>(to, from, count, stride);
  }
}

}  // namespace

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
  for (std::size_t i = 0; i < axes.size(); ++i) result[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return result;
}

Shape transposed_shape(const Shape& shape, const Axes& axes) {
  std::vector<std::int64_t> dims;
  for (std::int64_t axis : axes) dims.push_back(shape[static_cast<int>(axis)]);
  return Shape(std::move(dims));
}

bool keeps_element_order(const Shape& shape, const Axes& axes) {
  std::int64_t last = -1;
  for (std::int64_t axis : axes) {
    if (shape[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Tensor transposed(const Tensor& x, const Axes& axes) {
  const Shape shape = transposed_shape(x.shape(), axes);
  if (keeps_element_order(x.shape(), axes)) return x.reshaped(shape);
  Tensor y(x.dtype(), shape);
  if (shape.elements() == 0) return y;
  const std::vector<std::int64_t> x_strides = x.shape().strides();
  const int rank = shape.rank();
  const std::int64_t row = shape[rank - 1];
  const std::int64_t row_stride = x_strides[static_cast<std::size_t>(axes.back())];
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  std::vector<std::int64_t> index(static_cast<std::size_t>(rank), 0);
  for (std::int64_t start = 0; start < shape.elements(); start += row) {
    std::int64_t from = 0;
    for (int axis = 0; axis + 1 < rank; ++axis) {
      from += index[static_cast<std::size_t>(axis)] * x_strides[static_cast<std::size_t>(axes[static_cast<std::size_t>(axis)])];
    }
    gather_row(static_cast<std::size_t>(size), y.data() + start * size, x.data() + from * size, row, row_stride);
    for (int axis = rank - 2; axis >= 0 && ++index[static_cast<std::size_t>(axis)] == shape[axis]; --axis) index[static_cast<std::size_t>(axis)] = 0;
  }
  return y;
}

Tensor map_floats(const Tensor& x, const std::function<float(std::int64_t, float)>& f) {
  Tensor y(DType::f32, x.shape());
  const float* from = x.as<float>();
  float* to = y.as<float>();
  for (std::int64_t i = 0; i < x.elements(); ++i) to[i] = f(i, from[i]);
  return y;
}

}  // namespace octavo
