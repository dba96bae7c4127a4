// Taps of pooling windows. Part of kernels/.
#include "kernels/pool/geometry.h"

namespace octavo {
namespace {

constexpr std::size_t kAxisCount = kPoolAxes;

TapRange inside(std::int64_t start, std::int64_t size, std::int64_t kernel, std::int64_t dilation) {
  // Divisions are dear, and nearly all windows are not dilated.
  if (dilation == 1)
    return {start, std::max<std::int64_t>(0, -start), std::max<std::int64_t>(0, std::min(kernel, size - start))};
  const std::int64_t begin = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const std::int64_t end = start >= size ? 0 : std::min(kernel, (size - 1 - start) / dilation + 1);
  return {start, begin, end};
}

}  // namespace

PoolGeometry PoolGeometry::of(const Window& window, Layout layout, const Shape& x, const Shape& y) {
  PoolGeometry g;
  const bool is_first = layout == Layout::channels_first;
  const int rank = window.rank();
  g.images = is_first ? x[0] * x[1] : x[0];
  g.channels = is_first ? 1 : x[rank + 1];
  for (int i = 0; i < rank; ++i) {
    const std::size_t axis = kAxisCount - static_cast<std::size_t>(rank - i);
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
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) count *= std::min(kernel[axis], in[axis]);
  return count;
}

PoolRow PoolGeometry::row_at(std::int64_t row) const {
  const std::int64_t oh = row % out[1], od = row / out[1] % out[0];
  return {.image = row / (out[0] * out[1]),
          .depth = inside(od * stride[0] - pad_begin[0], in[0], kernel[0], dilation[0]),
          .height = inside(oh * stride[1] - pad_begin[1], in[1], kernel[1], dilation[1])};
}

std::int64_t PoolGeometry::find_taps(const PoolRow& row, std::int64_t ow, const std::byte* x, std::size_t element_bytes,
                                     const std::byte** taps) const {
  const TapRange width = inside(ow * stride[2] - pad_begin[2], in[2], kernel[2], dilation[2]);
  const std::int64_t bytes = channels * static_cast<std::int64_t>(element_bytes);
  const std::byte** to = taps;
  for (std::int64_t kd = row.depth.begin; kd < row.depth.end; ++kd) {
    const std::int64_t plane = row.image * in[0] + row.depth.start + kd * dilation[0];
    for (std::int64_t kh = row.height.begin; kh < row.height.end; ++kh) {
      const std::int64_t line = plane * in[1] + row.height.start + kh * dilation[1];
      const std::byte* from = x + (line * in[2] + width.start + width.begin * dilation[2]) * bytes;
      for (std::int64_t kw = width.begin; kw < width.end; ++kw, from += dilation[2] * bytes) *to++ = from;
    }
  }
  return to - taps;
}

std::int64_t PoolGeometry::next_taps(const PoolRow& row, std::int64_t ow, const std::byte* x, std::size_t element_bytes,
                                     const std::byte** taps, std::int64_t count) const {
  if (ow == 0 || !is_inside(ow - 1) || !is_inside(ow)) return find_taps(row, ow, x, element_bytes, taps);
  const std::int64_t bytes = stride[2] * channels * static_cast<std::int64_t>(element_bytes);
  for (std::int64_t i = 0; i < count; ++i) taps[i] += bytes;
  return count;
}

std::int64_t PoolGeometry::inside_from(std::int64_t ow) const {
  if (!is_inside(ow)) return 1;
  const std::int64_t last_start = in[2] - 1 - (kernel[2] - 1) * dilation[2];
  return std::min(out[2], (last_start + pad_begin[2]) / stride[2] + 1) - ow;
}

std::int64_t PoolGeometry::inside_padded(const PoolRow& row, std::int64_t ow) const {
  const std::int64_t starts[] = {row.depth.start, row.height.start, ow * stride[2] - pad_begin[2]};
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    const std::int64_t room = in[axis] + pad_end[axis] - starts[axis];
    count *= std::min(kernel[axis], (room + dilation[axis] - 1) / dilation[axis]);
  }
  return count;
}

}  // namespace octavo
