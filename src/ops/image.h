// Images and windows over them: what the references of convolutions and pools share, for any spatial rank and either
// layout. Part of ops/.
#ifndef OCTAVO_OPS_IMAGE_H_
#define OCTAVO_OPS_IMAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ops/check.h"
#include "ops/window.h"

namespace octavo {

// Sizes and strides (in elements) of an image tensor, or of a kernel seen as one ([OC, C/groups, kernel] or [OC,
// kernel, C/groups]).
struct Image {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::vector<std::int64_t> sizes;  // spatial
  std::int64_t batch_stride = 0;
  std::int64_t channel_stride = 0;
  std::vector<std::int64_t> strides;  // spatial

  // Rank at least 2.
  static Image of(const Shape& shape, Layout layout);
  std::int64_t positions() const;  // product of sizes
  // Element offset of a position, given by its row-major number.
  std::int64_t offset(std::int64_t position) const;
};

// The extents of an image tensor, which may be open; rank at least 2.
struct ImageExtents {
  Dim batch, channels;
  std::vector<Dim> sizes;  // spatial

  static ImageExtents of(const OpenShape& shape, Layout layout);
  std::vector<Dim> dims(Layout layout) const;
};

// One tap of a window at some output position.
struct Tap {
  bool is_inside = false;   // of the image
  std::int64_t image = 0;   // element offset into one image; only where inside
  std::int64_t kernel = 0;  // row-major number of the tap in the kernel
};

// Lists the taps of a window at one output position after the other.
class TapLister {
 public:
  enum class Outside { leave_out, list };
  TapLister(const Window& window, const Image& image, std::span<const std::int64_t> output_sizes, Outside outside);

  // Valid until the next call. `position` is the row-major number of the output position.
  const std::vector<Tap>& at(std::int64_t position);
  // How many taps of the last position are inside the padded image.
  std::int64_t inside_padded() const { return inside_padded_; }

 private:
  void add_axis(std::size_t axis, Tap tap);

  const Window& window_;
  const Image& image_;
  std::vector<std::int64_t> output_sizes_;
  Outside outside_;
  std::vector<std::int64_t> starts_;
  std::vector<Tap> taps_;
  std::int64_t inside_padded_ = 0;
};

// Every window covers at least one position of the image; what pools need.
Problem check_covers(const Window& window, std::span<const Dim> input_sizes);

// Facts of a pool whose x has rank 3 or more: the output's dimensions.
Result<std::vector<Dim>> pool_dims(const Window& window, const OpenShape& x, Layout layout, Rounding rounding);

struct ConvShapes {
  const Window& window;
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;
};
// Ranks, the window itself, that its kernel is that of w, that groups divide and channels agree.
Problem check_conv(const ConvShapes& conv, const OpenShape& x, const OpenShape& w);
// Shapes of a convolution, checked. Gives the output's dimensions.
Result<std::vector<Dim>> conv_dims(const ConvShapes& conv, const OpenShape& x, const OpenShape& w);

}  // namespace octavo

#endif  // OCTAVO_OPS_IMAGE_H_
