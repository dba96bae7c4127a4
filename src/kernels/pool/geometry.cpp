// Taps of pooling windows. Part of kernels/.
#include "kernels/pool/geometry.h"

namespace octavo {
namespace {

constexpr std::size_t kAxes = kPoolAxes;

// Taps of an axis that lie inside the image.
struct TapRange {
  std::int64_t begin, end;
};
TapRange inside(std::int64_t start, std::int64_t size, std::int64_t kernel, std::int64_t dilation) {
  const std::int64_t begin = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const std::int64_t end = start >= size ? 0 : std::min(kernel, (size - 1 - start) / dilation + 1);
  return {begin, end};
}

}  // namespace

PoolGeometry PoolGeometry::of(const Window& window, Layout layout, const Shape& x, const Shape& y) {
  PoolGeometry g;
  const bool is_first = layout == Layout::channels_first;
  const int rank = window.rank();
  g.images = is_first ? x[0] * x[1] : x[0];
  g.channels = is_first ? 1 : x[rank + 1];
  for (int i = 0; i < rank; ++i) {
    const std::size_t axis = kAxes - static_cast<std::size_t>(rank - i);
    const auto w = static_cast<std::size_t>(i);
    g.in[axis] = x[i + (is_first ? 2 : 1)];
    g.out[axis] = y[i + (is_first ? 2 : 1)];
    g.kernel[axis] = window.kernel[w];
    g.stride[axis] = window.strides[w];
    g.dilation[axis] = window.dilations[w];
    g.pad_begin[axis] = window.pad_begin[w];
    g.pad_end[axis] = window.pad_end[w];
  }
  return g;
}

std::int64_t PoolGeometry::most_taps() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < kAxes; ++axis) count *= std::min(kernel[axis], in[axis]);
  return count;
}

std::array<std::int64_t, kPoolAxes> PoolGeometry::starts(std::int64_t row, std::int64_t ow) const {
  const std::int64_t od = row / out[1] % out[0];
  return {od * stride[0] - pad_begin[0], row % out[1] * stride[1] - pad_begin[1], ow * stride[2] - pad_begin[2]};
}

std::int64_t PoolGeometry::find_taps(std::int64_t row, std::int64_t ow, const std::byte* x, std::size_t element_bytes, const std::byte** taps) const {
  const auto start = starts(row, ow);
  const std::int64_t image = row / (out[0] * out[1]);
  const TapRange depth = inside(start[0], in[0], kernel[0], dilation[0]);
  const TapRange height = inside(start[1], in[1], kernel[1], dilation[1]);
  const TapRange width = inside(start[2], in[2], kernel[2], dilation[2]);
  const std::int64_t bytes = channels * static_cast<std::int64_t>(element_bytes);
  const std::byte** to = taps;
  for (std::int64_t kd = depth.begin; kd < depth.end; ++kd) {
    const std::int64_t plane = image * in[0] + start[0] + kd * dilation[0];
    for (std::int64_t kh = height.begin; kh < height.end; ++kh) {
      const std::byte* from = x + ((plane * in[1] + start[1] + kh * dilation[1]) * in[2] + start[2] + width.begin * dilation[2]) * bytes;
      for (std::int64_t kw = width.begin; kw < width.end; ++kw, from += dilation[2] * bytes) *to++ = from;
    }
  }
  return to - taps;
}

std::int64_t PoolGeometry::inside_padded(std::int64_t row, std::int64_t ow) const {
  const auto start = starts(row, ow);
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::int64_t room = in[axis] + pad_end[axis] - start[axis];
    count *= std::min(kernel[axis], (room + dilation[axis] - 1) / dilation[axis]);
  }
  return count;
}

}  // namespace octavo
