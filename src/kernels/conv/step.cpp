// The step of a direct convolution: which tile of pixels meets which block of channels, and where the image ends. Part of kernels/conv/.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/call.h"
#include "kernels/conv/conv_step.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv/split.h"

namespace octavo {
namespace {

class ConvStep final : public Step {
 public:
  static Result<std::unique_ptr<Step>> make(const StepSpec& spec, const TileTarget& target, const ConvGeometry& g, const PackedConv& packed);

  std::int64_t items() const override { return split_.tiles.tiles() * static_cast<std::int64_t>(split_.chunks.size()); }
  std::size_t scratch_bytes() const override {
    return rows_bytes_ + copies_bytes_ + static_cast<std::size_t>(2 * g_.kernel_h) * sizeof(std::int64_t);
  }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override;

 private:
  // Where a tile of pixels lies. Kept and advanced, since divisions cost as much as short tiles.
  struct Tile {
    std::int64_t chunk = 0, image = 0, out_row = 0, in_line = 0;
    std::int64_t since_chunk = 0;  // tiles of this run before it, of the same chunk
    std::int64_t first_pixel = 0;  // of the line
    int narrower = 0;              // 1: one pixel less than split_.tiles.pixels
    // Rows found once serve all tiles of a line that lie within the image: `rows_left` is the column they start at, or none.
    std::int64_t rows_left = kNone, x_shift = 0;
    RowsInside rows;  // that were found
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  };
  // A thread's scratch: the rows of the current tile; copies of image rows with padding around them, for the first tile of a line and for
  // the others; and which row each copy holds, since the next line needs most of them again.
  struct Scratch {
    const std::uint8_t** rows;
    std::uint8_t* copies;
    std::int64_t* held;
  };

  ConvStep(const ConvGeometry& g, const PackedConv& packed) : g_(g), packed_(packed) {}
  Status emit(const TileConfig& base);
  Tile tile_of(std::int64_t item) const noexcept;
  void advance(Tile& tile) const noexcept;
  Scratch scratch_of(std::byte* scratch) const noexcept;
  void find_rows(const std::uint8_t* x, const Scratch& scratch, Tile& tile) const noexcept;
  bool is_readable(const Tile& tile, std::int64_t left) const noexcept;
  const std::uint8_t* padded_row(const Scratch& scratch, const Tile& tile, const std::uint8_t* x, std::int64_t row, std::int64_t kh) const noexcept;
  void fill_padded_row(std::uint8_t* to, const std::uint8_t* line, std::int64_t first_column, std::int64_t columns) const noexcept;
  void run_tile(const StepBuffers& buffers, const Tile& tile, std::int64_t last_chunk) const noexcept;
  const std::byte* prefetch_from(const Tile& tile, std::int64_t last_chunk) const noexcept;

  ConvGeometry g_;
  PackedConv packed_;
  std::int32_t x_zero_point_ = 0;
  ChannelBlocks blocks_;
  ConvSplit split_;
  std::array<std::int64_t, 2> columns_{};  // of x under a tile, and under one that is narrower
  std::int64_t padded_row_bytes_ = 0;
  std::int64_t row_bytes_ = 0;  // of the weights of a row of K for one vector
  std::size_t rows_bytes_ = 0, copies_bytes_ = 0;
  std::size_t out_bytes_ = 1;  // of an element
  std::unique_ptr<TileConstants> constants_;
  std::vector<std::uint8_t> padding_row_;  // x_zero_point, for every tile of a line
  // Per block, code for `pixels` and for `pixels - 1`.
  std::array<std::vector<TileFunction*>, 2> functions_;
  std::vector<std::shared_ptr<const Code>> codes_;
};

Status ConvStep::emit(const TileConfig& base) {
  for (int narrower = 0; narrower < 2; ++narrower) {
    TileConfig config = base;
    config.pixels = split_.tiles.pixels - narrower;
    if (config.pixels == 0 || (narrower == 1 && split_.tiles.wide_tiles == split_.tiles.tiles_per_line)) break;
    for (const ChannelBlock& block : blocks_.blocks) {
      config.vectors = block.vectors;
      config.channels = block.channels;
      auto code = tile_code(config);
      if (!code) return code.errors();
      functions_[static_cast<std::size_t>(narrower)].push_back((*code)->entry<TileFunction>());
      if (std::find(codes_.begin(), codes_.end(), *code) == codes_.end()) codes_.push_back(*code);
    }
  }
  return ok_status();
}

Result<std::unique_ptr<Step>> ConvStep::make(const StepSpec& spec, const TileTarget& target, const ConvGeometry& g, const PackedConv& packed) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  std::unique_ptr<ConvStep> step(new ConvStep(g, packed));
  step->blocks_ = channel_blocks(g, target);
  TileConfig base = epilogue_config(spec, target, packed);
  base.sums_x = g.sums_x;
  base.pixel_bytes = static_cast<std::int32_t>(g.pixel_bytes());
  base.taps = static_cast<std::int32_t>(g.taps);
  base.tap_bytes = static_cast<std::int32_t>(g.tap_bytes);
  base.run_dwords = static_cast<std::int32_t>(g.run_dwords());
  // The table needs eight registers beside the packed pixels.
  const int most =
      base.table == TableStep::none ? target.max_pixels(step->blocks_.max_vectors) : std::min(24, target.max_pixels(step->blocks_.max_vectors));
  step->split_ = split_conv(g, step->blocks_, target, most, spec.threads, host_machine().l2_bytes);
  step->x_zero_point_ = attrs.x_zero_point;
  step->row_bytes_ = g.taps * g.run_dwords() * target.weight_bytes();
  step->out_bytes_ = size_of(spec.outputs[0].dtype);
  for (int narrower : {0, 1}) step->columns_[static_cast<std::size_t>(narrower)] = g.span_bytes(step->split_.tiles.pixels - narrower) / g.channels;
  step->padded_row_bytes_ = ceil_div(step->columns_[0] * g.channels + g.overread(), 64) * 64;
  step->copies_bytes_ = static_cast<std::size_t>(2 * g.kernel_h * step->padded_row_bytes_);
  step->rows_bytes_ = static_cast<std::size_t>(ceil_div(g.kernel_h * 8, 64) * 64);
  const bool has_padding_rows = g.pad_top > 0 || (g.out_height - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h - g.pad_top >= g.height;
  step->padding_row_.assign(static_cast<std::size_t>(step->padded_row_bytes_ + (has_padding_rows ? g.width * g.channels : 0)),
                            static_cast<std::uint8_t>(attrs.x_zero_point));
  step->constants_ = epilogue_constants(attrs, target.lanes, packed.table);
  base.prefetches = step->split_.chunks.size() > 1;
  if (auto status = step->emit(base); !status) return status.errors();
  return std::unique_ptr<Step>(std::move(step));
}

ConvStep::Tile ConvStep::tile_of(std::int64_t item) const noexcept {
  const std::int64_t index = item % split_.tiles.tiles();
  const std::int64_t line = index / split_.tiles.tiles_per_line, in_line = index % split_.tiles.tiles_per_line;
  return {.chunk = item / split_.tiles.tiles(),
          .image = line / g_.out_height,
          .out_row = line % g_.out_height,
          .in_line = in_line,
          .first_pixel = split_.tiles.first_pixel(in_line),
          .narrower = in_line < split_.tiles.wide_tiles ? 0 : 1};
}

void ConvStep::advance(Tile& tile) const noexcept {
  ++tile.since_chunk;
  tile.first_pixel += split_.tiles.pixels - tile.narrower;
  if (++tile.in_line < split_.tiles.tiles_per_line) {
    tile.narrower = tile.in_line < split_.tiles.wide_tiles ? 0 : 1;
    return;
  }
  tile.in_line = tile.first_pixel = 0;
  tile.rows_left = Tile::kNone;
  tile.narrower = 0;
  if (++tile.out_row < g_.out_height) return;
  tile.out_row = 0;
  if (++tile.image < g_.batch) return;
  tile.image = tile.since_chunk = 0;
  ++tile.chunk;
}

void ConvStep::run(const StepBuffers& buffers, ItemRange range) const noexcept {
  if (range.begin >= range.end) return;
  const Scratch scratch = scratch_of(buffers.scratch);
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]);
  const std::int64_t last_chunk = (range.end - 1) / split_.tiles.tiles();
  Tile tile = tile_of(range.begin);
  for (std::int64_t item = range.begin; item < range.end; ++item, advance(tile)) {
    find_rows(x, scratch, tile);
    run_tile(buffers, tile, last_chunk);
  }
}

ConvStep::Scratch ConvStep::scratch_of(std::byte* scratch) const noexcept {
  auto* held = reinterpret_cast<std::int64_t*>(scratch + rows_bytes_ + copies_bytes_);
  std::fill_n(held, 2 * g_.kernel_h, std::int64_t{-1});
  return {reinterpret_cast<const std::uint8_t**>(scratch), reinterpret_cast<std::uint8_t*>(scratch + rows_bytes_), held};
}

// Whether all that the tile reads lies within the image, what the last dword of a run reads beyond included: x may be the caller's.
bool ConvStep::is_readable(const Tile& tile, std::int64_t left) const noexcept {
  const std::int64_t right = left + columns_[static_cast<std::size_t>(tile.narrower)];
  const std::int64_t bottom = std::min(tile.out_row * g_.stride_h - g_.pad_top + (g_.kernel_h - 1) * g_.dilation_h, g_.height - 1);
  return left >= 0 && right <= g_.width && ((tile.image * g_.height + bottom) * g_.width + right) * g_.channels + g_.overread() <= g_.x_bytes();
}

// Where the rows of K begin for this tile: in the image where it lies within, else in a copy with the padding around it.
void ConvStep::find_rows(const std::uint8_t* x, const Scratch& scratch, Tile& tile) const noexcept {
  const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
  const bool reads_image = is_readable(tile, left);
  if (reads_image && tile.rows_left != Tile::kNone) {
    tile.x_shift = (left - tile.rows_left) * g_.channels;
    return;
  }
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
const std::uint8_t* ConvStep::padded_row(const Scratch& scratch, const Tile& tile, const std::uint8_t* x, std::int64_t row,
                                         std::int64_t kh) const noexcept {
  // Rows of one tile must not share a slot: without dilation they are neighbours.
  const std::int64_t slot = (tile.in_line == 0 ? 0 : g_.kernel_h) + (g_.dilation_h == 1 ? row % g_.kernel_h : kh);
  const std::int64_t image_row = tile.image * g_.height + row;
  const std::int64_t identity = image_row * split_.tiles.tiles_per_line + tile.in_line;
  std::uint8_t* copy = scratch.copies + slot * padded_row_bytes_;
  if (scratch.held[slot] == identity) return copy;
  scratch.held[slot] = identity;
  const std::int64_t left = tile.first_pixel * g_.stride_w - g_.pad_left;
  fill_padded_row(copy, x + image_row * g_.width * g_.channels, left, columns_[static_cast<std::size_t>(tile.narrower)]);
  return copy;
}

// Columns [first_column, first_column + columns) of a line of x, x_zero_point outside of it.
void ConvStep::fill_padded_row(std::uint8_t* to, const std::uint8_t* line, std::int64_t first_column, std::int64_t columns) const noexcept {
  const std::int64_t begin = std::clamp<std::int64_t>(-first_column, 0, columns);
  const std::int64_t end = std::clamp<std::int64_t>(g_.width - first_column, begin, columns);
  std::memset(to, x_zero_point_, static_cast<std::size_t>(begin * g_.channels));
  if (end > begin)
    std::memcpy(to + begin * g_.channels, line + (first_column + begin) * g_.channels, static_cast<std::size_t>((end - begin) * g_.channels));
  std::memset(to + end * g_.channels, x_zero_point_, static_cast<std::size_t>((columns - end) * g_.channels + g_.overread()));
}

// The next chunk's weights are fetched while this one's are used, a share with every tile; its own where there is none.
const std::byte* ConvStep::prefetch_from(const Tile& tile, std::int64_t last_chunk) const noexcept {
  const auto weights_of = [&](std::int64_t chunk) { return blocks_.blocks[split_.chunks[static_cast<std::size_t>(chunk)].begin].weights; };
  if (tile.chunk == last_chunk) return packed_.weights + weights_of(tile.chunk);
  const BlockRange range = split_.chunks[static_cast<std::size_t>(tile.chunk)];
  const std::int64_t share = static_cast<std::int64_t>(range.end - range.begin) * g_.k_dwords() * 64;
  const std::int64_t from = weights_of(tile.chunk + 1) + tile.since_chunk * share;
  return packed_.weights + std::min(from, blocks_.weight_bytes - share);
}

void ConvStep::run_tile(const StepBuffers& buffers, const Tile& tile, std::int64_t last_chunk) const noexcept {
  const std::int64_t pixel = (tile.image * g_.out_height + tile.out_row) * g_.out_width + tile.first_pixel;
  const std::byte* residual = buffers.inputs.size() > kConvResidual ? buffers.inputs[kConvResidual] : nullptr;
  const std::vector<TileFunction*>& functions = functions_[static_cast<std::size_t>(tile.narrower)];
  TileArgs args{.rows = reinterpret_cast<const std::uint8_t* const*>(buffers.scratch), .row_count = tile.rows.count, .constants = constants_.get()};
  const BlockRange range = split_.chunks[static_cast<std::size_t>(tile.chunk)];
  args.prefetch = prefetch_from(tile, last_chunk);
  for (std::size_t b = range.begin; b < range.end; ++b) {
    const ChannelBlock& block = blocks_.blocks[b];
    const std::int64_t element = pixel * g_.out_channels + block.first;
    args.x_offset = tile.x_shift + block.x_offset;
    args.weights = packed_.weights + block.weights + tile.rows.first * row_bytes_ * block.vectors;
    args.bias = packed_.bias + block.lane;
    args.multiplier = packed_.multipliers.data() + block.lane;
    args.w_offset = packed_.w_offset + (g_.sums_x ? block.lane : 0);
    args.residual = residual + (residual != nullptr ? element : 0);
    args.y = buffers.outputs[0] + element * static_cast<std::int64_t>(out_bytes_);
    functions[b](&args);
    args.prefetch += g_.k_dwords() * 64;
  }
}

// ---- checks ----

// At least one element of the packed weights stands for each of w's, so that the blocks that w's shape claims take memory in proportion to the file.
bool may_be_packed(const StepSpec& spec) {
  return spec.packed.size() >= 2 && spec.packed[0].shape.elements() >= spec.inputs[kConvW].shape.elements();
}

}  // namespace

Result<std::unique_ptr<Step>> prepare_conv(const StepSpec& spec, const TileTarget& target) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  std::string reason = attrs_refusal(attrs);
  if (reason.empty()) reason = geometry_refusal(attrs, spec.inputs[kConvX].shape, spec.inputs[kConvW].shape);
  if (spec.inputs[kConvX].dtype != DType::u8) reason = "needs an input of type u8";
  if (!reason.empty())
    return Error{.kind = ErrorKind::invalid_input, .where = "quantized_conv", .found = "a call that this kernel refuses", .hint = reason};
  if (!may_be_packed(spec)) return not_as_packed(spec);
  const bool has_offset = spec.inputs.size() > kConvOffset && spec.inputs[kConvOffset].is_present;
  const ConvGeometry g = geometry_of(attrs, {spec.inputs[kConvX].shape, spec.inputs[kConvW].shape, spec.outputs[0].shape, has_offset}, target);
  const ChannelBlocks blocks = channel_blocks(g, target);
  auto packed = checked_packed(spec, {target.weight_type(), blocks.weight_bytes, blocks.lanes, g.sums_x});
  if (!packed) return packed.errors();
  return ConvStep::make(spec, target, g, *packed);
}

}  // namespace octavo
