// How an image convolution is cut into slices of rows that are convolutions of their own. Part of onednn/.
#ifndef OCTAVO_ONEDNN_SLICES_H_
#define OCTAVO_ONEDNN_SLICES_H_

#include <array>
#include <cstdint>

#include "ops/fused_conv/fused_conv.h"

namespace octavo::onednn {

// A convolution of NHWC images as numbers; [0] is the axis that slices cut, the height, [1] the width.
struct ConvSize {
  std::int64_t n = 1, ic = 1, oc = 1, groups = 1;
  std::array<std::int64_t, 2> in{1, 1}, out{1, 1}, kernel{1, 1}, strides{1, 1}, dilations{1, 1}, pad_begin{0, 0},
      pad_end{0, 0};
  // Images of one line, such as sequences, or 1x1, stride 1, no padding, where all pixels of the batch are one line:
  // a column of rows of one pixel here, the same bytes. oneDNN, which likes wide images, gets slices of it as lines.
  bool is_line = false;

  static ConvSize of(const FusedConvAttrs& attrs, const Shape& x, const Shape& y);
  double macs() const;
};

// Output rows [out_begin, out_begin + out_rows) and the input rows that they need.
struct RowSlice {
  std::int64_t out_begin = 0, out_rows = 0;
  std::int64_t in_begin = 0, in_rows = 0;
  std::int64_t pad_begin = 0, pad_end = 0;

  // The same primitive computes both.
  bool same_form(const RowSlice& other) const {
    return out_rows == other.out_rows && in_rows == other.in_rows && pad_begin == other.pad_begin &&
           pad_end == other.pad_end;
  }
};

// Slices per image: enough for the threads, none larger than half of a level-2 cache where that leaves enough work in
// each.
std::int64_t slices_per_image(const ConvSize& size, int threads, std::int64_t l2_bytes);
RowSlice slice_of(const ConvSize& size, std::int64_t slices, std::int64_t index);

}  // namespace octavo::onednn

#endif  // OCTAVO_ONEDNN_SLICES_H_
