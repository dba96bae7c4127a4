// TileWalk: the items of a convolution, each a tile of output pixels for a chunk of channel blocks, and the rows of x
// under a tile: in the image, or in copies with padding around them. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_TILE_WALK_H_
#define OCTAVO_KERNELS_CONV_TILE_WALK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/conv/geometry.h"
#include "kernels/conv/split.h"

namespace octavo {

// Input channels [begin, end).
struct ChannelRange {
  std::int64_t begin = 0, end = 0;
};

// What one step walks over.
struct WalkPlan {
  const ConvGeometry& geometry;
  const ChannelBlocks& blocks;
  ConvSplit split;
  // Pixels whose x the code of a tile reads, of which it may leave results unused; 0: as many as the tile has.
  int read_pixels = 0;
  std::int32_t x_zero_point = 0;
  // Images have zero points of their own, known only in the run: start_image says which.
  bool has_run_zero_points = false;
};

class TileWalk {
 public:
  // Where a tile of pixels lies. Kept and advanced, since divisions cost as much as short tiles.
  struct Tile {
    std::int64_t chunk = 0, image = 0, out_row = 0, in_line = 0;
    std::int64_t since_chunk = 0;  // tiles of this run before it, of the same chunk
    std::int64_t first_pixel = 0;  // of the line
    int narrower = 0;              // 1: one pixel less than tiles().pixels
    // Rows found once serve all tiles of a line that lie within the image: `rows_left` is the column they start at, or
    // none.
    std::int64_t rows_left = kNone, x_shift = 0;
    RowsInside rows;  // that were found
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  };
  // A thread's scratch: the rows of the current tile; copies of image rows with padding around them, for the first tile
  // of a line and for the others; and which row each copy holds, since the next line needs most of them again.
  struct Scratch {
    const std::uint8_t** rows;
    std::uint8_t* copies;
    std::int64_t* held;
    const std::uint8_t* padding_row;  // x_zero_point, for every tile of a line
    std::int32_t x_zero_point;
  };

  explicit TileWalk(const WalkPlan& plan);

  const PixelTiles& tiles() const noexcept { return split_.tiles; }
  std::int64_t items() const noexcept { return tiles().tiles() * static_cast<std::int64_t>(split_.chunks.size()); }
  std::size_t chunks() const noexcept { return split_.chunks.size(); }
  BlockRange chunk(std::int64_t index) const noexcept { return split_.chunks[static_cast<std::size_t>(index)]; }
  std::int64_t chunk_of(std::int64_t item) const noexcept { return item / tiles().tiles(); }
  // A multiple of 64.
  std::size_t scratch_bytes() const noexcept { return rows_bytes_ + copies_bytes_ + held_bytes_ + run_padding_bytes_; }
  Scratch scratch_of(std::byte* scratch) const noexcept;
  // Before the tiles of an image, where zero points are known only in the run.
  void start_image(Scratch& scratch, std::uint8_t x_zero_point) const noexcept;

  Tile tile_of(std::int64_t item) const noexcept;
  void advance(Tile& tile) const noexcept {
    ++tile.since_chunk;
    tile.first_pixel += pixels(tile);
    if (++tile.in_line < tiles().tiles_per_line) tile.narrower = tile.in_line < tiles().wide_tiles ? 0 : 1;
    else start_line(tile);
  }
  // Of the whole output.
  std::int64_t first_pixel(const Tile& tile) const noexcept {
    return (tile.image * g_.out_height + tile.out_row) * g_.out_width + tile.first_pixel;
  }
  int pixels(const Tile& tile) const noexcept { return tiles().pixels - tile.narrower; }

  // tile.rows, and scratch.rows: where each of them begins, to which tile.x_shift is to be added.
  void find_rows(const std::uint8_t* x, const Scratch& scratch, Tile& tile) const noexcept {
    const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
    const bool reads_image = is_readable(tile, left);
    if (reads_image && tile.rows_left != Tile::kNone) tile.x_shift = (left - tile.rows_left) * g_.channels;
    else find_new_rows(x, scratch, tile, reads_image);
  }

 private:
  void start_line(Tile& tile) const noexcept;
  // Whether all that the tile reads lies within the image, what the last dword of a run reads beyond included: x may be
  // the caller's. What is read for nothing may lie on the next line.
  bool is_readable(const Tile& tile, std::int64_t left) const noexcept {
    const auto narrower = static_cast<std::size_t>(tile.narrower);
    const std::int64_t bottom =
        std::min(tile.out_row * g_.stride_h - g_.pad_top + (g_.kernel_h - 1) * g_.dilation_h, g_.height - 1);
    const std::int64_t end = (tile.image * g_.height + bottom) * g_.width + left + read_columns_[narrower];
    return left >= 0 && left + columns_[narrower] <= g_.width && end * g_.channels <= last_end_;
  }
  void find_new_rows(const std::uint8_t* x, const Scratch& scratch, Tile& tile, bool reads_image) const noexcept;
  const std::uint8_t* padded_row(const Scratch& scratch, const Tile& tile, const std::uint8_t* x, std::int64_t row,
                                 std::int64_t slot) const noexcept;
  // Columns of a line of x from `first` on, and the channels of them that a chunk reads.
  struct Part {
    std::int64_t first = 0, columns = 0;
    ChannelRange channels;
  };
  void fill_padded_row(const Scratch& scratch, std::uint8_t* to, const std::uint8_t* line,
                       const Part& part) const noexcept;
  void fill_padded_channels(const Scratch& scratch, std::uint8_t* to, const std::uint8_t* line,
                            const Part& part) const noexcept;

  ConvGeometry g_;
  ConvSplit split_;
  std::vector<ChannelRange> channels_;  // of x, by chunk
  std::int32_t x_zero_point_ = 0;
  std::array<std::int64_t, 2> columns_{}, read_columns_{};  // of x under a tile, and under one that is narrower
  std::int64_t padded_row_bytes_ = 0;
  std::int64_t last_end_ = 0;  // bytes of x before which a tile's columns must end
  std::size_t rows_bytes_ = 0, copies_bytes_ = 0, held_bytes_ = 0, run_padding_bytes_ = 0;
  std::vector<std::uint8_t> padding_row_;  // where its value is known before the run
};

// ---- for every tile at the edge of an image: inline, since small tiles are not longer than a few calls ----

inline void TileWalk::find_new_rows(const std::uint8_t* x, const Scratch& scratch, Tile& tile,
                                    bool reads_image) const noexcept {
  const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
  tile.x_shift = 0;
  tile.rows_left = reads_image ? left : Tile::kNone;
  tile.rows = g_.skips_padding_rows ? rows_inside(g_, tile.out_row) : RowsInside{0, g_.kernel_h};
  if (tile.rows.count == 0) tile.rows = {0, 1};  // one of padding: tiles have at least one row
  std::int64_t row = tile.out_row * g_.stride_h - g_.pad_top + tile.rows.first * g_.dilation_h;
  // Rows of one tile must not share a slot: without dilation they are neighbours, and keep theirs from one output row
  // to the next.
  std::int64_t slot = g_.dilation_h == 1 ? row % g_.kernel_h : tile.rows.first;
  if (slot < 0) slot += g_.kernel_h;
  for (std::int64_t i = 0; i < tile.rows.count; ++i, row += g_.dilation_h) {
    const std::uint8_t* from = scratch.padding_row;
    if (row >= 0 && row < g_.height) {
      const std::int64_t line = (tile.image * g_.height + row) * g_.width;
      from = reads_image ? x + (line + left) * g_.channels : padded_row(scratch, tile, x, row, slot);
    }
    scratch.rows[i] = from;
    if (++slot == g_.kernel_h) slot = 0;
  }
}

// The copy of the tile's part of an image row; made only where the last tiles did not leave it behind.
inline const std::uint8_t* TileWalk::padded_row(const Scratch& scratch, const Tile& tile, const std::uint8_t* x,
                                                std::int64_t row, std::int64_t slot) const noexcept {
  if (tile.in_line != 0) slot += g_.kernel_h;
  const std::int64_t image_row = tile.image * g_.height + row;
  const std::int64_t contents = g_.groups > 1 ? tile.chunk : 0;
  const std::int64_t identity = (contents * g_.batch * g_.height + image_row) * tiles().tiles_per_line + tile.in_line;
  std::uint8_t* copy = scratch.copies + slot * padded_row_bytes_;
  if (scratch.held[slot] == identity) return copy;
  scratch.held[slot] = identity;
  const ChannelRange channels = channels_[static_cast<std::size_t>(tile.chunk)];
  const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
  const Part part{left, read_columns_[static_cast<std::size_t>(tile.narrower)], channels};
  const std::uint8_t* line = x + image_row * g_.width * g_.channels;
  channels.end - channels.begin == g_.channels ? fill_padded_row(scratch, copy, line, part)
                                               : fill_padded_channels(scratch, copy, line, part);
  return copy;
}

// All channels, x_zero_point outside of the image.
inline void TileWalk::fill_padded_row(const Scratch& scratch, std::uint8_t* to, const std::uint8_t* line,
                                      const Part& part) const noexcept {
  const std::int64_t begin = std::clamp<std::int64_t>(-part.first, 0, part.columns);
  const std::int64_t end = std::clamp<std::int64_t>(g_.width - part.first, begin, part.columns);
  std::memset(to, scratch.x_zero_point, static_cast<std::size_t>(begin * g_.channels));
  if (end > begin)
    std::memcpy(to + begin * g_.channels, line + (part.first + begin) * g_.channels,
                static_cast<std::size_t>((end - begin) * g_.channels));
  std::memset(to + end * g_.channels, scratch.x_zero_point,
              static_cast<std::size_t>((part.columns - end) * g_.channels + g_.overread()));
}

// The same where chunks have channels of their own. What is read beyond them meets weights of 0.
inline void TileWalk::fill_padded_channels(const Scratch& scratch, std::uint8_t* to, const std::uint8_t* line,
                                           const Part& part) const noexcept {
  const auto bytes = static_cast<std::size_t>(part.channels.end - part.channels.begin);
  for (std::int64_t i = 0; i < part.columns; ++i) {
    const std::int64_t column = part.first + i;
    std::uint8_t* copy = to + i * g_.channels + part.channels.begin;
    if (column < 0 || column >= g_.width) std::memset(copy, scratch.x_zero_point, bytes);
    else std::memcpy(copy, line + column * g_.channels + part.channels.begin, bytes);
  }
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_TILE_WALK_H_
