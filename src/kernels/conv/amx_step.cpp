// The step of a convolution on AMX: tiles of sums go through a thread's scratch to the AVX-512 epilogue of the other
// kernels. Part of kernels/conv/.
#include <algorithm>
#include <array>

#include "kernels/conv/amx_tile.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv/tile_walk.h"

namespace octavo {
namespace {

// Pixels that one round of the epilogue takes: of 24 vectors at most, which leaves the table its eight registers.
constexpr int finish_pixels(int vectors) { return vectors <= 3 ? 8 : 4; }

class AmxStep final : public Step {
 public:
  static Result<std::unique_ptr<Step>> make(const StepSpec& spec, CheckedConv call);

  std::int64_t items() const override { return walk_.items(); }
  std::size_t scratch_bytes() const override { return walk_.scratch_bytes() + sums_bytes_; }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override;

 private:
  // Code for one block of channels. The last pixels of a tile, where they are fewer than finish_pixels, have code of
  // their own: that of a tile and of one that is narrower.
  struct BlockCode {
    TileFunction* multiply = nullptr;
    TileFunction* finish = nullptr;
    std::array<TileFunction*, 2> finish_rest{};
  };

  AmxStep(CheckedConv call, TileWalk walk, const AmxLayout& layout, AmxRegisters registers)
      : g_(call.geometry),
        packed_(call.packed),
        blocks_(std::move(call.blocks)),
        walk_(std::move(walk)),
        layout_(layout),
        registers_(std::move(registers)) {
    sums_bytes_ = static_cast<std::size_t>(layout.pixels() * layout.vectors * kTileAmx.vector_bytes());
  }
  Status emit(const TileConfig& finish);
  Status keep(TileFunction*& function, Result<std::shared_ptr<const Code>> code);
  void run_tile(const StepBuffers& buffers, const TileWalk::Tile& tile) const noexcept;
  void finish(const StepBuffers& buffers, const TileWalk::Tile& tile, std::size_t block,
              const std::byte* sums) const noexcept;

  ConvGeometry g_;
  PackedConv packed_;
  ChannelBlocks blocks_;
  TileWalk walk_;
  AmxLayout layout_;
  AmxRegisters registers_;
  AmxPalette palette_ = AmxPalette::of(layout_);
  std::int64_t row_bytes_ = g_.row_dwords() * kTileAmx.weight_bytes();  // of the weights of a row of K for one vector
  std::size_t sums_bytes_ = 0;
  std::size_t out_bytes_ = 1;  // of an element
  std::int64_t residual_bytes_ = 1;
  int other_ = -1;  // the input that is added, where there is one
  std::unique_ptr<TileConstants> constants_;
  std::vector<BlockCode> codes_by_block_;
  std::vector<std::shared_ptr<const Code>> codes_;
};

// ---- preparation ----

Status AmxStep::keep(TileFunction*& function, Result<std::shared_ptr<const Code>> code) {
  if (!code) return code.errors();
  if (std::find(codes_.begin(), codes_.end(), *code) == codes_.end()) codes_.push_back(*code);
  function = (*code)->entry<TileFunction>();
  return ok_status();
}

Status AmxStep::emit(const TileConfig& base) {
  AmxConfig multiply{.layout = layout_,
                     .pixel_bytes = static_cast<std::int32_t>(g_.pixel_bytes()),
                     .taps = static_cast<std::int32_t>(g_.taps),
                     .tap_bytes = static_cast<std::int32_t>(g_.tap_bytes),
                     .run_steps = static_cast<std::int32_t>(g_.run_steps())};
  TileConfig finish = base;
  finish.kind = TileKind::sums;
  finish.sums_x = g_.sums_x;
  const auto emit_finish = [&](TileFunction*& function, int pixels) {
    finish.pixels = pixels;
    return pixels == 0 ? ok_status() : keep(function, tile_code(finish));
  };
  for (const ChannelBlock& block : blocks_.blocks) {
    BlockCode& code = codes_by_block_.emplace_back();
    multiply.vectors = finish.vectors = block.vectors;
    finish.channels = block.channels;
    if (auto status = keep(code.multiply, amx_code(multiply)); !status) return status;
    if (auto status = emit_finish(code.finish, finish_pixels(block.vectors)); !status) return status;
    for (int narrower : {0, 1}) {
      const int pixels = walk_.tiles().pixels - narrower;
      if (auto status =
              emit_finish(code.finish_rest[static_cast<std::size_t>(narrower)], pixels % finish_pixels(block.vectors));
          !status)
        return status;
    }
  }
  return ok_status();
}

Result<std::unique_ptr<Step>> AmxStep::make(const StepSpec& spec, CheckedConv call) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  const EpilogueParts parts = call.parts;
  if (parts.in_run != nullptr) return refused_conv("needs a scale known at compile time");
  const int most = kTileAmx.max_pixels(call.blocks.max_vectors);
  ConvSplit split = split_conv(call.geometry, call.blocks, kTileAmx, most, spec.threads, host_machine().l2_bytes);
  const AmxLayout layout = AmxLayout::of(split.tiles, call.blocks, call.geometry);
  TileWalk walk({.geometry = call.geometry,
                 .blocks = call.blocks,
                 .split = std::move(split),
                 .read_pixels = layout.pixels(),
                 .x_zero_point = attrs.x_zero_point});
  auto registers = AmxRegisters::create();
  if (!registers) return registers.errors();
  std::unique_ptr<AmxStep> step(new AmxStep(std::move(call), std::move(walk), layout, std::move(*registers)));
  step->out_bytes_ = size_of(spec.outputs[0].dtype);
  step->residual_bytes_ = parts.residual_bytes(spec);
  step->other_ = parts.other;
  step->constants_ = epilogue_constants(parts, kTileVnni512.lanes, step->packed_.table);
  if (auto status = step->emit(epilogue_config(spec, parts, kTileVnni512, step->packed_)); !status)
    return status.errors();
  return std::unique_ptr<Step>(std::move(step));
}

// ---- a run ----

void AmxStep::run(const StepBuffers& buffers, ItemRange range) const noexcept {
  if (range.begin >= range.end) return;
  const TileWalk::Scratch scratch = walk_.scratch_of(buffers.scratch);
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]);
  TileWalk::Tile tile = walk_.tile_of(range.begin);
  registers_.configure(palette_);
  for (std::int64_t item = range.begin; item < range.end; ++item, walk_.advance(tile)) {
    walk_.find_rows(x, scratch, tile);
    run_tile(buffers, tile);
  }
  registers_.release();
}

void AmxStep::run_tile(const StepBuffers& buffers, const TileWalk::Tile& tile) const noexcept {
  std::byte* const sums = buffers.scratch + walk_.scratch_bytes();
  TileArgs args{
      .rows = reinterpret_cast<const std::uint8_t* const*>(buffers.scratch), .row_count = tile.rows.count, .y = sums};
  const BlockRange range = walk_.chunk(tile.chunk);
  for (std::size_t b = range.begin; b < range.end; ++b) {
    const ChannelBlock& block = blocks_.blocks[b];
    args.x_offset = tile.x_shift + block.x_offset;
    args.weights = packed_.weights + block.weights + tile.rows.first * row_bytes_ * block.vectors;
    codes_by_block_[b].multiply(&args);
    finish(buffers, tile, b, sums);
  }
}

void AmxStep::finish(const StepBuffers& buffers, const TileWalk::Tile& tile, std::size_t b,
                     const std::byte* sums) const noexcept {
  const ChannelBlock& block = blocks_.blocks[b];
  const BlockCode& code = codes_by_block_[b];
  const int at_once = finish_pixels(block.vectors);
  const std::int64_t element = walk_.first_pixel(tile) * g_.out_channels + block.first;
  const std::byte* residual = other_ >= 0 ? buffers.inputs[static_cast<std::size_t>(other_)] : nullptr;
  TileArgs args{.bias = packed_.bias + block.lane,
                .multiplier = packed_.multipliers_from(block.lane),
                .w_offset = packed_.w_offset + (g_.sums_x ? block.lane : 0),
                .residual = residual + (residual != nullptr ? element * residual_bytes_ : 0),
                .y = buffers.outputs[0] + element * static_cast<std::int64_t>(out_bytes_),
                .constants = constants_.get(),
                .sums = reinterpret_cast<const std::int32_t*>(sums),
                .repeats = walk_.pixels(tile) / at_once};
  if (args.repeats > 0) code.finish(&args);
  TileFunction* const rest = code.finish_rest[static_cast<std::size_t>(tile.narrower)];
  if (rest == nullptr) return;
  const std::int64_t done = args.repeats * at_once, elements = done * g_.out_channels;
  args.sums += done * block.vectors * kTileAmx.lanes;
  args.residual += residual != nullptr ? elements * residual_bytes_ : 0;
  args.y += elements * static_cast<std::int64_t>(out_bytes_);
  args.repeats = 1;
  rest(&args);
}

}  // namespace

Result<std::unique_ptr<Step>> prepare_amx(const StepSpec& spec) {
  auto call = checked_conv(spec, kTileAmx);
  if (!call) return call.errors();
  return AmxStep::make(spec, std::move(*call));
}

}  // namespace octavo
