// What a walk is made of, and its beginnings. Part of kernels/conv/.
#include "kernels/conv/tile_walk.h"

#include <algorithm>

#include "kernels/cache_line.h"

namespace octavo {
namespace {

// What the blocks of a chunk read.
ChannelRange channels_of(const ConvGeometry& g, const ChannelBlocks& blocks, const BlockRange& chunk) {
  return {blocks.blocks[chunk.begin].x_offset,
          std::min(g.channels, blocks.blocks[chunk.end - 1].x_offset + g.group_in)};
}

}  // namespace

TileWalk::TileWalk(const WalkPlan& plan) : g_(plan.geometry), split_(plan.split), x_zero_point_(plan.x_zero_point) {
  for (const BlockRange& chunk : split_.chunks) channels_.push_back(channels_of(g_, plan.blocks, chunk));
  for (int narrower : {0, 1}) {
    const int pixels = tiles().pixels - narrower;
    columns_[static_cast<std::size_t>(narrower)] = g_.span_bytes(pixels) / g_.channels;
    read_columns_[static_cast<std::size_t>(narrower)] =
        g_.span_bytes(plan.read_pixels == 0 ? pixels : plan.read_pixels) / g_.channels;
  }
  last_end_ = g_.x_bytes() - g_.overread();
  padded_row_bytes_ = whole_lines(read_columns_[0] * g_.channels + g_.overread());
  copies_bytes_ = static_cast<std::size_t>(2 * g_.kernel_h * padded_row_bytes_);
  rows_bytes_ = static_cast<std::size_t>(whole_lines(g_.kernel_h * 8));
  held_bytes_ =
      static_cast<std::size_t>(whole_lines(2 * g_.kernel_h * static_cast<std::int64_t>(sizeof(std::int64_t))));
  const bool has_padding_rows =
      g_.pad_top > 0 || (g_.out_height - 1) * g_.stride_h + (g_.kernel_h - 1) * g_.dilation_h - g_.pad_top >= g_.height;
  const auto padding_bytes =
      static_cast<std::size_t>(padded_row_bytes_ + (has_padding_rows ? g_.width * g_.channels : 0));
  if (plan.has_run_zero_points)
    run_padding_bytes_ = static_cast<std::size_t>(whole_lines(static_cast<std::int64_t>(padding_bytes)));
  else padding_row_.assign(padding_bytes, static_cast<std::uint8_t>(plan.x_zero_point));
}

TileWalk::Scratch TileWalk::scratch_of(std::byte* scratch) const noexcept {
  auto* held = reinterpret_cast<std::int64_t*>(scratch + rows_bytes_ + copies_bytes_);
  std::fill_n(held, 2 * g_.kernel_h, std::int64_t{-1});
  auto* rows = reinterpret_cast<const std::uint8_t**>(scratch);
  const auto* run_padding = reinterpret_cast<const std::uint8_t*>(scratch + rows_bytes_ + copies_bytes_ + held_bytes_);
  return {.rows = rows,
          .copies = reinterpret_cast<std::uint8_t*>(scratch + rows_bytes_),
          .held = held,
          .padding_row = run_padding_bytes_ > 0 ? run_padding : padding_row_.data(),
          .x_zero_point = x_zero_point_};
}

// Copies of rows that are held belong to one image, and so to its zero point.
void TileWalk::start_image(Scratch& scratch, std::uint8_t x_zero_point) const noexcept {
  std::uint8_t* padding = scratch.copies + copies_bytes_ + held_bytes_;
  std::memset(padding, x_zero_point, run_padding_bytes_);
  scratch.x_zero_point = x_zero_point;
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

}  // namespace octavo
