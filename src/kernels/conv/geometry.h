// ConvGeometry: one quantized_conv as the tiles see it: runs of bytes along K, blocks of output channels, tiles of
// output pixels. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_GEOMETRY_H_
#define OCTAVO_KERNELS_CONV_GEOMETRY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "kernels/conv/tile.h"

namespace octavo {

struct QuantizedConvAttrs;

// Of counts: a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct ConvGeometry {
  std::int64_t batch = 1, height = 1, width = 1, channels = 1;  // of x
  std::int64_t out_height = 1, out_width = 1, out_channels = 1;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0,
               pad_left = 0;
  // Neighbouring groups are merged (with zero weights between them) where that fills more lanes.
  std::int64_t merged = 1;  // groups of the operator in one group of these; the last may have fewer
  std::int64_t groups = 1;
  std::int64_t group_in = 1, group_out = 1;  // channels of one merged group
  // Padding is 0: rows of K outside of the image add nothing and are left out.
  bool skips_padding_rows = false;
  // Weights have offsets that meet the sum of x: one more vector of each block, whose weights are all 1.
  bool sums_x = false;
  // K is kernel_h rows of `taps` runs of `run_bytes` bytes, `tap_bytes` apart; a run is read in whole steps of
  // `step_dwords`.
  std::int64_t taps = 1, tap_bytes = 0, run_bytes = 1, step_dwords = 1;

  // These divide: not for every tile.
  std::int64_t run_steps() const { return ceil_div(run_bytes, 4 * step_dwords); }
  std::int64_t run_dwords() const { return run_steps() * step_dwords; }
  std::int64_t row_dwords() const { return taps * run_dwords(); }  // of a row of K
  std::int64_t k_dwords() const { return kernel_h * row_dwords(); }
  std::int64_t pixel_bytes() const { return stride_w * channels; }
  std::int64_t x_bytes() const { return batch * height * width * channels; }
  // Bytes of one row of x under `pixels` neighbouring output pixels, without what the last dword reads beyond.
  std::int64_t span_bytes(std::int64_t pixels) const {
    return ((pixels - 1) * stride_w + (kernel_w - 1) * dilation_w + 1) * channels;
  }
  // The share of all rows of K, over all output rows, that lies within the image.
  double share_inside() const;
  // Bytes read past a span: by whole steps, and for the groups that the last merged one lacks.
  std::int64_t overread() const { return run_dwords() * 4 - run_bytes + groups * group_in - channels; }
};

// Rows of K within the image.
struct RowsInside {
  std::int64_t first = 0, count = 0;
};
RowsInside rows_inside(const ConvGeometry& geometry, std::int64_t out_row);

// What the shapes must be for geometry_of to be meaningful and its products to stay small, or why not.
std::string geometry_refusal(const QuantizedConvAttrs& attrs, const Shape& x, const Shape& w);
// x [N,H,W,C], w [OC,KH,KW,C/groups], y [N,OH,OW,OC].
struct ConvShapesOfCall {
  const Shape& x;
  const Shape& w;
  const Shape& y;
  bool has_offset = false;
};
ConvGeometry geometry_of(const QuantizedConvAttrs& attrs, const ConvShapesOfCall& shapes, const TileTarget& target);

// Output channels that one tile computes.
struct ChannelBlock {
  std::int64_t first = 0;     // output channel
  int channels = 0;           // valid ones; the last vector may be partly filled
  int vectors = 0;            // that of the sums of x included
  std::int64_t x_offset = 0;  // first input channel of its group
  std::int64_t lane = 0;      // where its bias and multiplier start, in elements
  std::int64_t weights = 0;   // where its weights start, in bytes
};

struct ChannelBlocks {
  std::vector<ChannelBlock> blocks;
  int max_vectors = 1;
  std::int64_t lanes = 0;         // of all blocks
  std::int64_t weight_bytes = 0;  // of all blocks
};
ChannelBlocks channel_blocks(const ConvGeometry& geometry, const TileTarget& target);

// Output rows ("lines") cut into tiles of `pixels`, then of `pixels - 1`, so that no narrow rest is left.
struct PixelTiles {
  std::int64_t lines = 1, line_pixels = 1;
  std::int64_t tiles_per_line = 1;
  std::int64_t wide_tiles = 1;  // of a line, with `pixels`; the others have one less
  int pixels = 1;

  std::int64_t tiles() const { return lines * tiles_per_line; }
  std::int64_t first_pixel(std::int64_t tile) const {
    return tile * pixels - (tile > wide_tiles ? tile - wide_tiles : 0);
  }
};
PixelTiles pixel_tiles(const ConvGeometry& geometry, std::int64_t tiles_per_line);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_GEOMETRY_H_
