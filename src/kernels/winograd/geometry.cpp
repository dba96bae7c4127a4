// Tiles, blocks and parts of a Winograd convolution. Part of kernels/winograd/.
#include "kernels/winograd/geometry.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/conv/geometry.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Displacements in the generated code stay far below 2^31.
constexpr std::int64_t kMaxChannels = std::int64_t{1} << 16;

template <class Entry>
bool are_all(const std::vector<Entry>& list, std::int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](std::int64_t entry) { return entry == value; });
}

// The largest sum of weights of one sign over part `part` of `parts` of an output channel. w: [9][channels] of that
// output channel.
std::int64_t largest_sum(const WinogradGeometry& g, const std::int8_t* w, std::int64_t parts, std::int64_t part) {
  const std::int64_t begin = g.pairs * part / parts * 2, end = std::min(g.channels, g.pairs * (part + 1) / parts * 2);
  // At most 9 * 2^16 * 2^7. Every new size of a model waits for this: 32 bits and no branch.
  std::int32_t all = 0, magnitudes = 0;
  for (int tap = 0; tap < 9; ++tap) {
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int32_t value = w[tap * g.channels + c];
      all += value;
      magnitudes += std::abs(value);
    }
  }
  return (magnitudes + std::abs(all)) / 2;
}

bool are_exact(const WinogradGeometry& g, const std::int8_t* w, std::int64_t parts) {
  for (std::int64_t part = 0; part < parts; ++part) {
    if (largest_sum(g, w, parts, part) * 255 >= kWinogradLimit) return false;
  }
  return true;
}

}  // namespace

std::string winograd_geometry_refusal(const QuantizedConvAttrs& attrs, const Shape& x, const Shape& w) {
  const Window& window = attrs.window;
  if (x.rank() != 4 || w.rank() != 4 || window.rank() != 2) return "needs two spatial axes";
  if (!are_all(window.kernel, 3) || !are_all(window.strides, 1) || !are_all(window.dilations, 1))
    return "needs a 3x3 window of stride 1";
  if (attrs.groups != 1) return "needs one group";
  if (x[3] > kMaxChannels || w[0] > kMaxChannels) return "needs at most 65536 channels";
  return {};
}

WinogradGeometry winograd_geometry(const QuantizedConvAttrs& attrs, const Shape& x, const Shape& w, const Shape& y,
                                   const WinogradTarget& target) {
  WinogradGeometry g{.batch = x[0],
                     .height = x[1],
                     .width = x[2],
                     .channels = x[3],
                     .out_height = y[1],
                     .out_width = y[2],
                     .out_channels = w[0]};
  g.pad_top = attrs.window.pad_begin[0];
  g.pad_left = attrs.window.pad_begin[1];
  g.lanes = target.lanes();
  g.pairs = ceil_div(g.channels, 2);
  g.padded_channels = ceil_div(g.channels, 2 * g.lanes) * 2 * g.lanes;
  // Tiles an odd number of lines apart, where an even one would crowd the few sets that they meet in.
  if (g.padded_channels >= 256 && g.padded_channels % 64 == 0) g.padded_channels += 32;
  g.tile_rows = ceil_div(g.out_height, kWinogradOutput);
  g.tile_columns = ceil_div(g.out_width, kWinogradOutput);
  g.vectors = ceil_div(g.out_channels, g.lanes);
  g.block_vectors = static_cast<int>(std::min<std::int64_t>(target.pairs.max_vectors, g.vectors));
  return g;
}

std::int64_t parts_needed(const WinogradGeometry& g, const Tensor& w, std::int64_t block) {
  const std::int64_t first = block * g.block_vectors * g.lanes;
  const std::int64_t last = std::min(g.out_channels, first + std::int64_t{g.vectors_of(block)} * g.lanes);
  std::int64_t parts = 1;
  for (std::int64_t oc = first; oc < last; ++oc) {
    // One pair never exceeds the limit, so that this ends.
    while (!are_exact(g, w.as<std::int8_t>() + oc * 9 * g.channels, parts)) ++parts;
  }
  return parts;
}

}  // namespace octavo
