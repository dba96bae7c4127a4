// Runs, channel blocks and pixel tiles of a convolution. Part of kernels/conv/.
#include "kernels/conv/geometry.h"

#include <algorithm>
#include <utility>

#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Displacements and scratch stay small below this; real networks are far below.
constexpr std::int64_t kMaxSpanBytes = std::int64_t{1} << 26;
constexpr std::int64_t kMaxAxis = std::int64_t{1} << 24;

// Of all output channels of one pixel in half cycles, when `merged` groups are computed as one: its multiply-adds, and
// what is done to each sum.
std::int64_t cost_with(std::int64_t merged, const QuantizedConvAttrs& attrs, std::int64_t group_in,
                       std::int64_t group_out, const TileTarget& target) {
  constexpr std::int64_t kFinish = 6;
  const std::int64_t steps =
      attrs.window.kernel[0] * attrs.window.kernel[1] * ceil_div(merged * group_in, 4 * target.max_step_dwords());
  return ceil_div(attrs.groups, merged) * ceil_div(merged * group_out, target.lanes) * (steps + kFinish);
}

std::int64_t best_merge(const QuantizedConvAttrs& attrs, std::int64_t group_in, std::int64_t group_out,
                        const TileTarget& target) {
  std::int64_t best = 1;
  for (std::int64_t merged = 2;
       merged <= std::min<std::int64_t>(attrs.groups, target.lanes) && merged * group_out <= 2 * target.lanes;
       ++merged) {
    if (cost_with(merged, attrs, group_in, group_out, target) < cost_with(best, attrs, group_in, group_out, target))
      best = merged;
  }
  return best;
}

bool is_pointwise(const Window& window) {
  const auto all = [](const auto& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](const auto& entry) { return entry == value; });
  };
  return all(window.kernel, 1) && all(window.strides, 1) && all(window.pad_begin, 0) && all(window.pad_end, 0);
}

// A column of pixels lies in memory as a line does, which tiles are for.
bool is_column(const Window& window, std::int64_t width) {
  return width == 1 && window.kernel[1] == 1 && window.pad_begin[1] == 0 && window.pad_end[1] == 0;
}

void lay_down(ConvGeometry& g) {
  std::swap(g.height, g.width);
  std::swap(g.out_height, g.out_width);
  std::swap(g.kernel_h, g.kernel_w);
  g.stride_w = std::exchange(g.stride_h, 1);  // there is one column
  std::swap(g.dilation_h, g.dilation_w);
  std::swap(g.pad_top, g.pad_left);
}

void set_runs(ConvGeometry& g, const TileTarget& target) {
  const bool is_one_run = g.groups == 1 && (g.dilation_w == 1 || g.kernel_w == 1);
  g.taps = is_one_run ? 1 : g.kernel_w;
  g.tap_bytes = is_one_run ? 0 : g.dilation_w * g.channels;
  g.run_bytes = is_one_run ? g.kernel_w * g.channels : g.group_in;
  // Even steps: 17 dwords are 9 + 9 with one of zero weights, not 16 + 16 with 15.
  const std::int64_t dwords = ceil_div(g.run_bytes, 4);
  g.step_dwords =
      std::max<std::int64_t>(target.least_step_dwords(), ceil_div(dwords, ceil_div(dwords, target.max_step_dwords())));
}

}  // namespace

std::string geometry_refusal(const QuantizedConvAttrs& attrs, const Shape& x, const Shape& w) {
  if (x.rank() != 4 || w.rank() != 4 || attrs.window.rank() != 2) return "needs two spatial axes";
  if (x.elements() == 0 || w.elements() == 0) return "needs at least one element";
  const Window& window = attrs.window;
  const auto is_far = [](std::int64_t entry) { return entry > kMaxAxis; };
  for (const std::vector<std::int64_t>& list :
       {fixed(window.kernel), window.strides, window.dilations, fixed(window.pad_begin)}) {
    if (std::any_of(list.begin(), list.end(), is_far)) return "needs a window of fewer than 2^24 positions";
  }
  const std::size_t along = is_column(window, x[2]) ? 0 : 1;  // a line
  const std::int64_t positions = kMostPixels * window.strides[along] + window.extent(static_cast<int>(along));
  if (positions > kMaxSpanBytes / x[3] || window.kernel[1 - along] > kMaxSpanBytes / (positions * x[3])) {
    return "needs less than 64 MiB of input under one row of a tile";
  }
  if (w[0] > kMaxSpanBytes) return "needs fewer than 2^26 output channels";
  return {};
}

ConvGeometry geometry_of(const QuantizedConvAttrs& attrs, const ConvShapesOfCall& shapes, const TileTarget& target) {
  const Window& window = attrs.window;
  const auto& [x, w, y, has_offset] = shapes;
  ConvGeometry g{.batch = x[0],
                 .height = x[1],
                 .width = x[2],
                 .channels = x[3],
                 .out_height = y[1],
                 .out_width = y[2],
                 .out_channels = w[0]};
  g.kernel_h = window.kernel[0];
  g.kernel_w = window.kernel[1];
  g.stride_h = window.strides[0];
  g.stride_w = window.strides[1];
  g.dilation_h = window.dilations[0];
  g.dilation_w = window.dilations[1];
  g.pad_top = window.pad_begin[0];
  g.pad_left = window.pad_begin[1];
  if (is_column(window, x[2])) lay_down(g);
  if (g.kernel_w == 1) g.dilation_w = 1;
  g.skips_padding_rows = attrs.x_zero_point == 0 && !target.flips_x();
  g.sums_x = has_offset && target.weight_type() != DType::s16;
  if (is_pointwise(window)) {  // all pixels of all images are one line
    g.width = g.out_width = g.batch * g.height * g.width;
    g.batch = g.height = g.out_height = 1;
  }
  const std::int64_t group_in = g.channels / attrs.groups, group_out = g.out_channels / attrs.groups;
  // The sum of a merged group's x would be that of several.
  g.merged = g.sums_x ? 1 : best_merge(attrs, group_in, group_out, target);
  g.groups = ceil_div(attrs.groups, g.merged);
  g.group_in = group_in * g.merged;
  g.group_out = group_out * g.merged;
  set_runs(g, target);
  return g;
}

ChannelBlocks channel_blocks(const ConvGeometry& geometry, const TileTarget& target) {
  ChannelBlocks result;
  const std::int64_t sums = geometry.sums_x ? 1 : 0, most = target.block_vectors(geometry.sums_x);
  for (std::int64_t group = 0; group < geometry.groups; ++group) {
    const std::int64_t first = group * geometry.group_out,
                       end = std::min(first + geometry.group_out, geometry.out_channels);
    const std::int64_t vectors = ceil_div(end - first, target.lanes), blocks = ceil_div(vectors, most);
    for (std::int64_t b = 0, channel = first; b < blocks; ++b) {
      // Vectors spread evenly: 5 are 3 + 2, not 4 + 1, but where whole blocks are finished in registers.
      const std::int64_t even = vectors * (b + 1) / blocks - vectors * b / blocks;
      const std::int64_t count = target.is_compiled() ? std::min(most, vectors - b * most) : even;
      const std::int64_t channels = std::min(count * target.lanes, end - channel);
      result.blocks.push_back({.first = channel,
                               .channels = static_cast<int>(channels),
                               .vectors = static_cast<int>(count + sums),
                               .x_offset = group * geometry.group_in,
                               .lane = result.lanes,
                               .weights = result.weight_bytes});
      result.max_vectors = std::max(result.max_vectors, result.blocks.back().vectors);
      channel += channels;
      result.lanes += (count + sums) * target.lanes;
      result.weight_bytes += (count + sums) * target.weight_bytes() * geometry.k_dwords();
    }
  }
  return result;
}

PixelTiles pixel_tiles(const ConvGeometry& geometry, std::int64_t tiles_per_line) {
  PixelTiles tiles{.lines = geometry.batch * geometry.out_height,
                   .line_pixels = geometry.out_width,
                   .tiles_per_line = tiles_per_line};
  tiles.pixels = static_cast<int>(ceil_div(tiles.line_pixels, tiles.tiles_per_line));
  tiles.wide_tiles = tiles.line_pixels - tiles.tiles_per_line * (tiles.pixels - 1);
  return tiles;
}

RowsInside rows_inside(const ConvGeometry& g, std::int64_t out_row) {
  const std::int64_t top = out_row * g.stride_h - g.pad_top;
  const auto in_rows = [&](std::int64_t count) {
    return std::min(g.kernel_h, g.dilation_h == 1 ? count : ceil_div(count, g.dilation_h));
  };
  const std::int64_t first = top < 0 ? in_rows(-top) : 0;
  const std::int64_t end = top < g.height ? in_rows(g.height - top) : 0;
  return {first, std::max<std::int64_t>(0, end - first)};
}

// Rows in the middle of the image have all of K, so that those of its edges, fewer than K's extent each, decide.
double ConvGeometry::share_inside() const {
  if (!skips_padding_rows) return 1.0;
  const std::int64_t extent = (kernel_h - 1) * dilation_h + 1, edge = std::min(out_height, ceil_div(extent, stride_h));
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < edge; ++i) {
    outside += kernel_h - rows_inside(*this, i).count;
    if (out_height - 1 - i >= edge) outside += kernel_h - rows_inside(*this, out_height - 1 - i).count;
  }
  return 1.0 - static_cast<double>(outside) / static_cast<double>(kernel_h * out_height);
}

}  // namespace octavo
