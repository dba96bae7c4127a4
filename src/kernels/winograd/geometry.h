// WinogradGeometry: one quantized_conv as tiles of 4x4 outputs, blocks of output channels, and parts of the input
// channels. Part of kernels/winograd/.
#ifndef OCTAVO_KERNELS_WINOGRAD_GEOMETRY_H_
#define OCTAVO_KERNELS_WINOGRAD_GEOMETRY_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/shape.h"
#include "base/tensor.h"
#include "kernels/conv/tile.h"
#include "kernels/winograd/transforms.h"

namespace octavo {

struct QuantizedConvAttrs;

// One instruction set: how transformed operands are multiplied, how sums become outputs, and who transforms.
struct WinogradTarget {
  TileTarget pairs;
  TileTarget epilogue;
  const WinogradFunctions* functions = nullptr;

  int lanes() const { return pairs.lanes; }
};

struct WinogradGeometry {
  std::int64_t batch = 1, height = 1, width = 1, channels = 1;  // of x
  std::int64_t out_height = 1, out_width = 1, out_channels = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  std::int64_t pairs = 1;            // of input channels
  std::int64_t padded_channels = 2;  // of a transformed tile: whole vectors
  std::int64_t tile_rows = 1, tile_columns = 1;
  int lanes = 16;
  int block_vectors = 1;  // of output channels computed together; the last block may have fewer
  std::int64_t vectors = 1;

  std::int64_t tiles() const { return batch * tile_rows * tile_columns; }
  std::int64_t blocks() const { return (vectors + block_vectors - 1) / block_vectors; }
  int vectors_of(std::int64_t block) const {
    return static_cast<int>(std::min<std::int64_t>(block_vectors, vectors - block * block_vectors));
  }
  // Packed weights: s8 [vector of block][pair] ... of whole blocks, 9 taps of 2 * lanes.
  std::int64_t weight_bytes() const { return vectors * pairs * 18 * lanes; }
  std::int64_t transformed_bytes() const { return kWinogradPositions * pairs * vectors * lanes * 4; }
  std::int64_t first_weight(std::int64_t block) const { return block * block_vectors * pairs * 18 * lanes; }
};

// Why a convolution of these attributes and shapes is not for Winograd, or empty.
std::string winograd_geometry_refusal(const QuantizedConvAttrs& attrs, const Shape& x, const Shape& w);
WinogradGeometry winograd_geometry(const QuantizedConvAttrs& attrs, const Shape& x, const Shape& w, const Shape& y,
                                   const WinogradTarget& target);

// Between positions: an odd number of cache lines, or all positions of a tile would meet in the same sets.
constexpr std::int64_t odd_lines(std::int64_t bytes) { return ((bytes + 63) / 64 | 1) * 64; }

// The parts into which the input channels of a block are cut, so that each part's sums stay within kWinogradLimit
// whatever x is: part i of n has the pairs [pairs * i / n, pairs * (i + 1) / n).
std::int64_t parts_needed(const WinogradGeometry& geometry, const Tensor& w, std::int64_t block);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_GEOMETRY_H_
