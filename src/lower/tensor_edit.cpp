// Rearranging constant tensors. Part of lower/.
#include "lower/tensor_edit.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace octavo {
namespace {

// y[i * to_stride] = x[i * from_stride] for i and the same for j, in squares that stay in the cache: one of the two directions jumps.
struct Plane {
  std::int64_t rows = 1, columns = 1;
  std::int64_t from_row = 0, from_column = 0;  // steps in elements
  std::int64_t to_row = 0, to_column = 0;
};

template <class Element>
void copy_plane(const Plane& plane, const Element* from, Element* to) {
  constexpr std::int64_t kSquare = 32;
  for (std::int64_t row = 0; row < plane.rows; row += kSquare) {
    for (std::int64_t column = 0; column < plane.columns; column += kSquare) {
      for (std::int64_t i = row; i < std::min(row + kSquare, plane.rows); ++i) {
        for (std::int64_t j = column; j < std::min(column + kSquare, plane.columns); ++j) {
          to[i * plane.to_row + j * plane.to_column] = from[i * plane.from_row + j * plane.from_column];
        }
      }
    }
  }
}

// The element type does not matter, only its size.
void copy_plane(std::size_t size, const Plane& plane, const std::byte* from, std::byte* to) {
  const auto copy = [&](auto element) {
    copy_plane(plane, reinterpret_cast<const decltype(element)*>(from), reinterpret_cast<decltype(element)*>(to));
  };
  switch (size) {
    case 1: return copy(std::uint8_t{});
    case 2: return copy(std::uint16_t{});
    case 4: return copy(std::uint32_t{});
    default: return copy(std::uint64_t{});
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
  const std::vector<std::int64_t> to = shape.strides();
  std::vector<std::int64_t> from;
  for (std::int64_t axis : axes) from.push_back(x_strides[static_cast<std::size_t>(axis)]);
  // The plane of the two axes that are innermost in y and in x; the walk below counts through the others.
  const std::size_t last = axes.size() - 1;
  auto other = static_cast<std::size_t>(std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(last)) - axes.begin());
  if (other == last) other = last - 1;
  const auto size = [&](std::size_t axis) { return shape[static_cast<int>(axis)]; };
  const Plane plane{size(other), size(last), from[other], from[last], to[other], to[last]};
  const std::size_t bytes = size_of(x.dtype());
  std::vector<std::int64_t> index(axes.size(), 0);
  for (std::int64_t done = 0; done < shape.elements(); done += plane.rows * plane.columns) {
    std::int64_t from_start = 0;
    std::int64_t to_start = 0;
    for (std::size_t axis = 0; axis < last; ++axis) {
      from_start += index[axis] * from[axis];
      to_start += index[axis] * to[axis];
    }
    copy_plane(bytes, plane, x.data() + static_cast<std::size_t>(from_start) * bytes, y.data() + static_cast<std::size_t>(to_start) * bytes);
    for (std::size_t axis = last; axis-- > 0;) {
      if (axis == other) continue;
      if (++index[axis] < size(axis)) break;
      index[axis] = 0;
    }
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
