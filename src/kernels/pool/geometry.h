// PoolGeometry: where the taps of each output position lie, for one to three spatial axes and either layout. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_POOL_GEOMETRY_H_
#define OCTAVO_KERNELS_POOL_GEOMETRY_H_

#include <array>
#include <cstdint>

#include "kernels/call.h"
#include "ops/window.h"

namespace octavo {

inline constexpr int kPoolAxes = 3;

// Taps of an axis that lie inside the image, for a window that starts at `start`.
struct TapRange {
  std::int64_t start = 0, begin = 0, end = 0;
};

// What all positions of a row of the result share.
struct PoolRow {
  std::int64_t image = 0;
  TapRange depth, height;
};

// Missing leading axes have size 1. A channels_first tensor is seen as batch * channels images of one channel.
struct PoolGeometry {
  std::int64_t images = 0, channels = 0;
  std::array<std::int64_t, kPoolAxes> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1},
      pad_begin{0, 0, 0}, pad_end{0, 0, 0};

  // Rank 3 to 5.
  static PoolGeometry of(const Window& window, Layout layout, const Shape& x, const Shape& y);

  std::int64_t rows() const { return images * out[0] * out[1]; }
  std::int64_t kernel_elements() const { return kernel[0] * kernel[1] * kernel[2]; }
  // Most taps that one position has inside the image.
  std::int64_t most_taps() const;
  PoolRow row_at(std::int64_t row) const;
  // Fills `taps` with pointers into x and returns how many.
  std::int64_t find_taps(const PoolRow& row, std::int64_t ow, const std::byte* x, std::size_t element_bytes,
                         const std::byte** taps) const;
  // The same where `taps` still holds the `count` ones of the position before, in the same row: those of windows that
  // lie inside the image are all moved on.
  std::int64_t next_taps(const PoolRow& row, std::int64_t ow, const std::byte* x, std::size_t element_bytes,
                         const std::byte** taps, std::int64_t count) const;
  // How many positions of a row, from this one on, have windows that lie inside the image; 1 where its own does not.
  std::int64_t inside_from(std::int64_t ow) const;
  // How many taps of the position lie inside the padded image.
  std::int64_t inside_padded(const PoolRow& row, std::int64_t ow) const;

 private:
  bool is_inside(std::int64_t ow) const {
    const std::int64_t start = ow * stride[2] - pad_begin[2];
    return start >= 0 && start + (kernel[2] - 1) * dilation[2] < in[2];
  }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_POOL_GEOMETRY_H_
