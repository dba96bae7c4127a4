// Which tile of pixels meets which chunk of channels, and where the image ends. Part of kernels/conv/.
#include "kernels/conv/tile_walk.h"

#include <algorithm>
#include <cstring>

namespace octavo {
namespace {

constexpr std::int64_t round_up(std::int64_t bytes) { return ceil_div(bytes, 64) * 64; }

}  // namespace

TileWalk::TileWalk(const WalkPlan& plan) : g_(plan.geometry), split_(plan.split), x_zero_point_(plan.x_zero_point) {
  for (int narrower : {0, 1}) {
    const int pixels = tiles().pixels - narrower;
    columns_[static_cast<std::size_t>(narrower)] = g_.span_bytes(pixels) / g_.channels;
    read_columns_[static_cast<std::size_t>(narrower)] = g_.span_bytes(plan.read_pixels == 0 ? pixels : plan.read_pixels) / g_.channels;
  }
  padded_row_bytes_ = round_up(read_columns_[0] * g_.channels + g_.overread());
  copies_bytes_ = static_cast<std::size_t>(2 * g_.kernel_h * padded_row_bytes_);
  rows_bytes_ = static_cast<std::size_t>(round_up(g_.kernel_h * 8));
  held_bytes_ = static_cast<std::size_t>(round_up(2 * g_.kernel_h * static_cast<std::int64_t>(sizeof(std::int64_t))));
  const bool has_padding_rows = g_.pad_top > 0 || (g_.out_height - 1) * g_.stride_h + (g_.kernel_h - 1) * g_.dilation_h - g_.pad_top >= g_.height;
  padding_row_.assign(static_cast<std::size_t>(padded_row_bytes_ + (has_padding_rows ? g_.width * g_.channels : 0)),
                      static_cast<std::uint8_t>(plan.x_zero_point));
}

TileWalk::Scratch TileWalk::scratch_of(std::byte* scratch) const noexcept {
  auto* held = reinterpret_cast<std::int64_t*>(scratch + rows_bytes_ + copies_bytes_);
  std::fill_n(held, 2 * g_.kernel_h, std::int64_t{-1});
  return {reinterpret_cast<const std::uint8_t**>(scratch), reinterpret_cast<std::uint8_t*>(scratch + rows_bytes_), held};
}

TileWalk::Tile TileWalk::tile_of(std::int64_t item) const noexcept {
  const std::int64_t index = item % tiles().tiles();
  const std::int64_t line = index / tiles().tiles_per_line, in_line = index % tiles().tiles_per_line;
  return {.chunk = chunk_of(item),
          .image = line / g_.out_height,
          .out_row = line % g_.out_height,
          .in_line = in_line,
          .first_pixel = tiles().first_pixel(in_line),
          .narrower = in_line < tiles().wide_tiles ? 0 : 1};
}

void TileWalk::start_line(Tile& tile) const noexcept {
  tile.in_line = tile.first_pixel = 0;
  tile.rows_left = Tile::kNone;
  tile.narrower = 0;
  if (++tile.out_row < g_.out_height) return;
  tile.out_row = 0;
  if (++tile.image < g_.batch) return;
  tile.image = tile.since_chunk = 0;
  ++tile.chunk;
}

void TileWalk::find_new_rows(const std::uint8_t* x, const Scratch& scratch, Tile& tile, bool reads_image) const noexcept {
  const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
  tile.x_shift = 0;
  tile.rows_left = reads_image ? left : Tile::kNone;
  tile.rows = g_.skips_padding_rows ? rows_inside(g_, tile.out_row) : RowsInside{0, g_.kernel_h};
  if (tile.rows.count == 0) tile.rows = {0, 1};  // one of padding: tiles have at least one row
  const std::int64_t top = tile.out_row * g_.stride_h - g_.pad_top;
  for (std::int64_t kh = tile.rows.first; kh < tile.rows.first + tile.rows.count; ++kh) {
    const std::int64_t row = top + kh * g_.dilation_h;
    const std::uint8_t* from = padding_row_.data();
    if (row >= 0 && row < g_.height) {
      const std::int64_t line = (tile.image * g_.height + row) * g_.width;
      from = reads_image ? x + (line + left) * g_.channels : padded_row(scratch, tile, x, row, kh);
    }
    scratch.rows[kh - tile.rows.first] = from;
  }
}

// The copy of the tile's part of an image row; made only where the last tiles did not leave it behind.
const std::uint8_t* TileWalk::padded_row(const Scratch& scratch, const Tile& tile, const std::uint8_t* x, std::int64_t row,
                                         std::int64_t kh) const noexcept {
  // Rows of one tile must not share a slot: without dilation they are neighbours.
  const std::int64_t slot = (tile.in_line == 0 ? 0 : g_.kernel_h) + (g_.dilation_h == 1 ? row % g_.kernel_h : kh);
  const std::int64_t image_row = tile.image * g_.height + row;
  const std::int64_t identity = image_row * tiles().tiles_per_line + tile.in_line;
  std::uint8_t* copy = scratch.copies + slot * padded_row_bytes_;
  if (scratch.held[slot] == identity) return copy;
  scratch.held[slot] = identity;
  const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
  fill_padded_row(copy, x + image_row * g_.width * g_.channels, left, read_columns_[static_cast<std::size_t>(tile.narrower)]);
  return copy;
}

// Columns [first_column, first_column + columns) of a line of x, x_zero_point outside of it.
void TileWalk::fill_padded_row(std::uint8_t* to, const std::uint8_t* line, std::int64_t first_column, std::int64_t columns) const noexcept {
  const std::int64_t begin = std::clamp<std::int64_t>(-first_column, 0, columns);
  const std::int64_t end = std::clamp<std::int64_t>(g_.width - first_column, begin, columns);
  std::memset(to, x_zero_point_, static_cast<std::size_t>(begin * g_.channels));
  if (end > begin)
    std::memcpy(to + begin * g_.channels, line + (first_column + begin) * g_.channels, static_cast<std::size_t>((end - begin) * g_.channels));
  std::memset(to + end * g_.channels, x_zero_point_, static_cast<std::size_t>((columns - end) * g_.channels + g_.overread()));
}

}  // namespace octavo
