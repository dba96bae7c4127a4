// The step of a direct convolution: register tiles over pixels and blocks of channels. Part of kernels/conv/.
#include <algorithm>
#include <array>

#include "kernels/conv/epilogue.h"
#include "kernels/conv/tile_walk.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

class ConvStep final : public Step {
 public:
  static Result<std::unique_ptr<Step>> make(const StepSpec& spec, const TileTarget& target, CheckedConv call,
                                            const RunScaling& scaling);

  std::int64_t items() const override { return walk_.items(); }
  std::size_t scratch_bytes() const override { return walk_.scratch_bytes(); }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override;
  std::vector<std::byte> schedule() const override { return schedule_.encode(); }

 private:
  ConvStep(CheckedConv call, TileWalk walk, const ConvSchedule& schedule, const RunScaling& scaling)
      : g_(call.geometry),
        packed_(call.packed),
        blocks_(std::move(call.blocks)),
        walk_(std::move(walk)),
        schedule_(schedule),
        scaling_(scaling) {}
  Status emit(const TileConfig& base);
  // `args` keeps what all tiles of a run share.
  void run_tile(const StepBuffers& buffers, const TileWalk::Tile& tile, std::int64_t last_chunk,
                TileArgs& args) const noexcept;
  const std::byte* prefetch_from(const TileWalk::Tile& tile, std::int64_t last_chunk) const noexcept;
  // Of the scales and zero points of x that are known only in the run: where those of a tile begin.
  std::int64_t scale_of(const TileWalk::Tile& tile) const noexcept {
    return scaling_.scales == RunScales::per_pixel ? walk_.first_pixel(tile) : tile.image * scaling_.image_step;
  }

  ConvGeometry g_;
  PackedConv packed_;
  ChannelBlocks blocks_;
  TileWalk walk_;
  ConvSchedule schedule_;
  RunScaling scaling_;
  int other_ = -1, x_scale_ = -1;  // inputs of the epilogue, where it has them
  std::int64_t row_bytes_ = 0;     // of the weights of a row of K for one vector
  bool prefetches_ = false;
  std::int64_t fetched_bytes_ = 0;  // by a tile of one block
  std::size_t out_bytes_ = 1;       // of an element
  std::int64_t residual_bytes_ = 1;
  std::unique_ptr<TileConstants> constants_;
  // Per block, what computes `pixels` and for `pixels - 1`.
  std::array<std::vector<Tile>, 2> functions_;
  // From a block on, how many one call computes: compiled tiles those that are alike.
  std::vector<std::int64_t> alike_;
};

// From each block on, how many have its size and read the same channels.
std::vector<std::int64_t> alike(const std::vector<ChannelBlock>& blocks) {
  std::vector<std::int64_t> counts(blocks.size(), 1);
  for (std::size_t b = blocks.size(); b-- > 1;) {
    const ChannelBlock &one = blocks[b - 1], &next = blocks[b];
    if (one.channels == next.channels && one.vectors == next.vectors && one.x_offset == next.x_offset)
      counts[b - 1] = counts[b] + 1;
  }
  return counts;
}

Status ConvStep::emit(const TileConfig& base) {
  alike_ = base.target.is_compiled() ? alike(blocks_.blocks) : std::vector<std::int64_t>(blocks_.blocks.size(), 1);
  const PixelTiles& tiles = walk_.tiles();
  for (int narrower = 0; narrower < 2; ++narrower) {
    TileConfig config = base;
    config.pixels = tiles.pixels - narrower;
    if (config.pixels == 0 || (narrower == 1 && tiles.wide_tiles == tiles.tiles_per_line)) break;
    for (const ChannelBlock& block : blocks_.blocks) {
      config.vectors = block.vectors;
      config.channels = block.channels;
      config.block_bytes = static_cast<std::int64_t>(block.vectors) * base.target.weight_bytes() * g_.k_dwords();
      auto tile = tile_of(config);
      if (!tile) return tile.errors();
      functions_[static_cast<std::size_t>(narrower)].push_back(std::move(*tile));
    }
  }
  return ok_status();
}

Result<std::unique_ptr<Step>> ConvStep::make(const StepSpec& spec, const TileTarget& target, CheckedConv call,
                                             const RunScaling& scaling) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  const ConvGeometry& g = call.geometry;
  TileConfig base = epilogue_config(spec, call.parts, target, call.packed);
  base.run_scales = scaling.scales;
  base.sums_x = g.sums_x;
  if (target.is_compiled()) base.plain = plain_form(call, target);
  base.pixel_bytes = static_cast<std::int32_t>(g.pixel_bytes());
  base.taps = static_cast<std::int32_t>(g.taps);
  base.tap_bytes = static_cast<std::int32_t>(g.tap_bytes);
  base.run_dwords = static_cast<std::int32_t>(g.run_dwords());
  const ConvConditions conditions{target, tile_pixels(target, call.blocks, base.table != TableStep::none), spec.threads,
                                  host_machine().l2_bytes, spec.speeds};
  const auto schedule = spec.schedule.empty()
                            ? conv_schedule(g, call.blocks, conditions)
                            : decode_conv_schedule(spec.schedule, g, call.blocks, conditions.max_pixels);
  if (!schedule) return refused_conv("needs a schedule that is legal for the shape");
  const ConvSplit split = split_by(*schedule, g, call.blocks);
  base.prefetches = split.prefetches;
  TileWalk walk({.geometry = g,
                 .blocks = call.blocks,
                 .split = split,
                 .x_zero_point = attrs.x_zero_point,
                 .has_run_zero_points = scaling.scales == RunScales::shared});
  const EpilogueParts parts = call.parts;
  std::unique_ptr<ConvStep> step(new ConvStep(std::move(call), std::move(walk), *schedule, scaling));
  step->row_bytes_ = step->g_.row_dwords() * target.weight_bytes();
  step->prefetches_ = split.prefetches && !target.is_compiled();
  step->fetched_bytes_ = step->g_.k_dwords() * 64;
  step->out_bytes_ = size_of(spec.outputs[0].dtype);
  step->residual_bytes_ = parts.residual_bytes(spec);
  step->other_ = parts.other;
  step->x_scale_ = parts.x_scale;
  step->constants_ = epilogue_constants(parts, target.lanes, step->packed_.table);
  if (auto status = step->emit(base); !status) return status.errors();
  return std::unique_ptr<Step>(std::move(step));
}

void ConvStep::run(const StepBuffers& buffers, ItemRange range) const noexcept {
  if (range.begin >= range.end) return;
  TileWalk::Scratch scratch = walk_.scratch_of(buffers.scratch);
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]);
  const std::int64_t last_chunk = walk_.chunk_of(range.end - 1);
  TileWalk::Tile tile = walk_.tile_of(range.begin);
  const bool has_run_zero_points = scaling_.scales == RunScales::shared;
  std::int64_t started = -1;
  TileArgs args{.rows = scratch.rows, .constants = constants_.get()};
  for (std::int64_t item = range.begin; item < range.end; ++item, walk_.advance(tile)) {
    if (has_run_zero_points && tile.image != started) {
      started = tile.image;
      walk_.start_image(scratch, std::to_integer<std::uint8_t>(buffers.inputs[kHybridXZero][scale_of(tile)]));
    }
    walk_.find_rows(x, scratch, tile);
    run_tile(buffers, tile, last_chunk, args);
  }
}

// The next chunk's weights are fetched while this one's are used, a share with every tile; its own where there is none.
const std::byte* ConvStep::prefetch_from(const TileWalk::Tile& tile, std::int64_t last_chunk) const noexcept {
  const auto weights_of = [&](std::int64_t chunk) { return blocks_.blocks[walk_.chunk(chunk).begin].weights; };
  if (tile.chunk == last_chunk) return packed_.weights + weights_of(tile.chunk);
  const BlockRange range = walk_.chunk(tile.chunk);
  const std::int64_t share = static_cast<std::int64_t>(range.end - range.begin) * fetched_bytes_;
  const std::int64_t from = weights_of(tile.chunk + 1) + tile.since_chunk * share;
  return packed_.weights + std::min(from, blocks_.weight_bytes - share);
}

void ConvStep::run_tile(const StepBuffers& buffers, const TileWalk::Tile& tile, std::int64_t last_chunk,
                        TileArgs& args) const noexcept {
  const std::int64_t pixel = walk_.first_pixel(tile);
  const std::byte* residual = other_ >= 0 ? buffers.inputs[static_cast<std::size_t>(other_)] : nullptr;
  const std::vector<Tile>& functions = functions_[static_cast<std::size_t>(tile.narrower)];
  args.row_count = tile.rows.count;
  const BlockRange range = walk_.chunk(tile.chunk);
  if (prefetches_) args.prefetch = prefetch_from(tile, last_chunk);
  if (scaling_.scales != RunScales::none) {
    args.x_scales = reinterpret_cast<const float*>(buffers.inputs[static_cast<std::size_t>(x_scale_)]) + scale_of(tile);
    args.x_zero_points = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kHybridXZero]) + scale_of(tile);
  }
  for (std::size_t b = range.begin; b < range.end; b += static_cast<std::size_t>(args.repeats)) {
    const ChannelBlock& block = blocks_.blocks[b];
    const std::int64_t element = pixel * g_.out_channels + block.first;
    args.x_offset = tile.x_shift + block.x_offset;
    args.weights = packed_.weights + block.weights + tile.rows.first * row_bytes_ * block.vectors;
    args.bias = packed_.bias + block.lane;
    args.multiplier = packed_.multipliers_from(block.lane);
    args.w_offset = packed_.w_offset + (g_.sums_x ? block.lane : 0);
    args.residual = residual + (residual != nullptr ? element * residual_bytes_ : 0);
    args.y = buffers.outputs[0] + element * static_cast<std::int64_t>(out_bytes_);
    args.repeats = std::min(alike_[b], static_cast<std::int64_t>(range.end - b));
    functions[b](args);
    if (prefetches_) args.prefetch += fetched_bytes_;
  }
}

}  // namespace

Result<std::unique_ptr<Step>> prepare_conv(const StepSpec& spec, const TileTarget& target) {
  auto call = checked_conv(spec, target);
  if (!call) return call.errors();
  if (call->parts.in_run != nullptr) return refused_conv("needs a scale known at compile time");
  return ConvStep::make(spec, target, std::move(*call), {});
}

Result<std::unique_ptr<Step>> prepare_scaled_conv(const StepSpec& spec, const TileTarget& target, CheckedConv call,
                                                  const RunScaling& scaling) {
  return ConvStep::make(spec, target, std::move(call), scaling);
}

}  // namespace octavo
