// The step of a convolution on AMX: items of a few units each, for which the blocks of a chunk follow one another.
// While a block is multiplied, the AVX-512 epilogue of the other kernels finishes the one before. Part of
// kernels/conv/.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/conv/amx_schedule.h"
#include "kernels/conv/amx_tile.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv/x86/amx_lines.h"
#include "kernels/conv/x86/tile_code.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Pixels that one round of the epilogue takes: of 24 vectors at most, which leaves the table its eight registers. Where
// there are steps enough, each has a small round beside its multiplies (measured: a sixth of a layer with an addition).
std::int64_t conv_x86_amx_step_finish_pixels(const AmxLayout& layout, std::int64_t pixels, std::int64_t steps) {
  if (layout.vectors > 3) return 4;
  const std::int64_t small = ceil_div(pixels, 6), rounds = steps >= layout.units * small ? small : ceil_div(pixels, 8);
  return ceil_div(pixels, rounds);
}

constexpr std::int64_t kMostFinishPixels = 8, kMostPieces = 64;

// Pixels of a block that are finished at once.
struct Piece {
  std::int64_t row = 0;    // of the block's sums
  std::int64_t pixel = 0;  // of the output
  std::int64_t count = 0;
};

// Of the output, one after another.
struct Pixels {
  std::int64_t first = 0, count = 0;
};

// Units that are multiplied together.
struct Item {
  std::int64_t chunk = 0, image = 0;
  std::int64_t line = 0, part = 0;  // of its first unit: of the output, and among the units of its lines
  std::int64_t unit = 0;            // of the image
  std::int64_t next_line = 0, next_part = 0;
  int units = 0, pieces = 0;
  std::array<Piece, kMostPieces> piece;
};

// Of a pointwise convolution, where all pixels of all images are one line: lines that are worth copying.
void part_lines(ConvGeometry& g, const Shape& x) {
  const std::int64_t pixels = x[0] * x[1] * x[2];
  if (g.kernel_h * g.kernel_w != 1 || g.out_height != 1 || g.width != pixels || g.out_width != pixels) return;
  g.batch = x[0];
  g.height = g.out_height = x[1];
  g.width = g.out_width = x[2];
}

class AmxStep final : public Step {
 public:
  static Result<std::unique_ptr<Step>> make(const StepSpec& spec, CheckedConv call);

  std::int64_t items() const override { return g_.batch * items_per_image_ * schedule_.chunks; }
  std::size_t scratch_bytes() const override {
    return finishes_bytes_ + layout_.sums_bytes() + static_cast<std::size_t>(lines_.bytes);
  }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override;
  std::span<const std::byte> reads(ItemRange range) const override;
  std::vector<std::byte> schedule() const override { return schedule_.encode(); }

 private:
  // Code for one block of channels: the multiplies for so many units, the epilogue for so many pixels.
  struct BlockCode {
    std::array<AmxFunction*, AmxLayout::kMostUnits + 1> multiply{};
    std::array<TileFunction*, kMostFinishPixels + 1> finish{};
  };
  AmxStep(const CheckedConv& call, const AmxSchedule& schedule, bool copies)
      : g_(call.geometry),
        packed_(call.packed),
        weight_bytes_(call.blocks.weight_bytes),
        blocks_(joined_blocks(call.blocks, schedule.joined)),
        schedule_(schedule),
        copies_(copies) {}
  void lay_out();
  Status emit(const TileConfig& finish);
  Status emit_block(const ChannelBlock& block, const AmxConfig& base, TileConfig finish);
  template <class Function>
  Status keep(Function*& function, Result<std::shared_ptr<const Code>> code);

  Item item_of(std::int64_t index) const noexcept;
  void find_units(const StepBuffers& buffers, AmxLines& lines, Item& item, AmxArgs& args) const noexcept;
  void advance(Item& item) const noexcept;
  void add_pieces(Item& item, std::int64_t row, Pixels pixels) const noexcept;
  void run_blocks(const StepBuffers& buffers, const Item& item, AmxArgs& args) const noexcept;
  void look_ahead(const StepBuffers& buffers, AmxArgs& args) const noexcept;
  void add_finishes(const StepBuffers& buffers, const Item& item, std::size_t block) const noexcept;
  // Where part `part` of a line of the output begins.
  std::int64_t first_pixel(std::int64_t part) const { return part * g_.out_width / schedule_.units.per_line; }

  ConvGeometry g_;
  PackedConv packed_;
  std::int64_t weight_bytes_;
  std::vector<ChannelBlock> blocks_;
  AmxSchedule schedule_;
  bool copies_;  // of the lines of x
  std::vector<BlockRange> chunks_ = even_chunks(static_cast<std::int64_t>(blocks_.size()), schedule_.chunks);
  AmxRegisters registers_;
  AmxLayout layout_;
  AmxLinesPlan lines_;
  std::int64_t items_per_image_ = 1, units_per_image_ = 1;
  std::int64_t pitch_ = 0;         // rows of a unit from one of its lines to the next
  std::int64_t x_line_bytes_ = 0;  // of what units read, from one line to the next
  std::int64_t finish_pixels_ = 0;
  std::int64_t most_finishes_ = 0;  // of a block
  std::size_t finishes_bytes_ = 0;
  std::size_t out_bytes_ = 1;  // of an element
  std::int64_t residual_bytes_ = 1;
  std::int32_t x_zero_point_ = 0;
  int other_ = -1;    // the input that is added, where there is one
  int x_scale_ = -1;  // scales of the pixels of x, where they are known only in the run; so are their zero points then
  std::unique_ptr<TileConstants> constants_;
  std::vector<BlockCode> codes_by_block_;
  std::vector<std::shared_ptr<const Code>> codes_;
};

// ---- preparation ----

Result<std::unique_ptr<Step>> AmxStep::make(const StepSpec& spec, CheckedConv call) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  const EpilogueParts parts = call.parts;
  const AmxConditions conditions{
      .l2_bytes = host_machine().l2_bytes, .threads = spec.threads, .may_read_beyond = spec.inputs[kConvX].is_padded};
  const bool copies = amx_copies(call.geometry, conditions);
  if (copies) part_lines(call.geometry, spec.inputs[kConvX].shape);
  const auto schedule = spec.schedule.empty()
                            ? amx_schedule(call.geometry, call.blocks, conditions)
                            : decode_amx_schedule(spec.schedule, call.geometry, call.blocks, conditions);
  if (!schedule) return refused_conv("needs a schedule that is legal for the shape");
  std::unique_ptr<AmxStep> step(new AmxStep(call, *schedule, copies));
  step->lay_out();
  auto registers = AmxRegisters::create(step->layout_);
  if (!registers) return registers.errors();
  step->registers_ = std::move(*registers);
  step->out_bytes_ = size_of(spec.outputs[0].dtype);
  step->residual_bytes_ = parts.residual_bytes(spec);
  step->x_zero_point_ = attrs.x_zero_point;
  step->other_ = parts.other;
  step->x_scale_ = parts.x_scale;
  step->constants_ = epilogue_constants(parts, kTileVnni512.lanes, step->packed_.table);
  if (auto status = step->emit(epilogue_config(spec, parts, kTileVnni512, step->packed_)); !status)
    return status.errors();
  return std::unique_ptr<Step>(std::move(step));
}

void AmxStep::lay_out() {
  const AmxUnits& units = schedule_.units;
  layout_ = {.units = schedule_.at_once,
             .rows = units.rows,
             .vectors = std::max_element(blocks_.begin(), blocks_.end(),
                                         [](const auto& a, const auto& b) { return a.vectors < b.vectors; })
                            ->vectors,
             .dwords = static_cast<int>(g_.step_dwords)};
  units_per_image_ = units.per_image(g_);
  items_per_image_ = schedule_.items_per_image(g_);
  x_line_bytes_ = g_.width * g_.channels;
  pitch_ = amx_columns(g_);
  if (copies_) {
    const std::int64_t item_lines = ceil_div(schedule_.at_once, units.per_line) * units.lines + units.lines;
    lines_ = AmxLinesPlan::of(g_, item_lines, host_machine().l2_bytes / 16);
    x_line_bytes_ = lines_.line_bytes;
  }
  finish_pixels_ = conv_x86_amx_step_finish_pixels(layout_, units.columns(g_), g_.kernel_h * g_.taps * g_.run_steps());
  most_finishes_ = schedule_.at_once * units.lines * ceil_div(units.columns(g_), finish_pixels_);
  finishes_bytes_ = static_cast<std::size_t>(ceil_div(most_finishes_ * std::int64_t{sizeof(AmxFinish)}, 64) * 64);
}

template <class Function>
Status AmxStep::keep(Function*& function, Result<std::shared_ptr<const Code>> code) {
  if (!code) return code.errors();
  if (std::find(codes_.begin(), codes_.end(), *code) == codes_.end()) codes_.push_back(*code);
  function = (*code)->template entry<Function>();
  return ok_status();
}

Status AmxStep::emit(const TileConfig& base) {
  const AmxConfig multiply{.layout = layout_,
                           .pixel_bytes = g_.pixel_bytes(),
                           .line_bytes = x_line_bytes_ * g_.dilation_h,
                           .lines = g_.kernel_h,
                           .taps = g_.taps,
                           .tap_bytes = g_.tap_bytes,
                           .run_steps = g_.run_steps(),
                           .streams_w = schedule_.streams_w,
                           .finishes = most_finishes_};
  TileConfig finish = base;
  finish.kind = TileKind::sums;
  if (x_scale_ >= 0) finish.run_scales = RunScales::per_pixel;
  finish.sums_x = g_.sums_x;
  finish.sum_vectors = layout_.vectors;
  for (const ChannelBlock& block : blocks_) {
    if (auto status = emit_block(block, multiply, finish); !status) return status;
  }
  return ok_status();
}

Status AmxStep::emit_block(const ChannelBlock& block, const AmxConfig& base, TileConfig finish) {
  BlockCode& code = codes_by_block_.emplace_back();
  AmxConfig multiply = base;
  multiply.vectors = finish.vectors = block.vectors;
  multiply.dword_bytes = g_.sums_x ? block.vectors * kTileAmx.weight_bytes() : kTileAmx.weight_bytes();
  multiply.vector_bytes = g_.sums_x ? kTileAmx.weight_bytes() : g_.k_dwords() * kTileAmx.weight_bytes();
  finish.channels = block.channels;
  for (const std::int64_t units : {std::int64_t{schedule_.at_once}, units_per_image_ % schedule_.at_once}) {
    if (units == 0) continue;
    multiply.units = static_cast<int>(units);
    if (auto status = keep(code.multiply[static_cast<std::size_t>(units)], amx_code(multiply)); !status) return status;
  }
  for (const std::int64_t narrower : {0, 1}) {
    const std::int64_t pixels =
        schedule_.units.lines > 1 ? g_.out_width : std::max<std::int64_t>(1, layout_.rows - narrower);
    for (const std::int64_t count : {std::min(pixels, finish_pixels_), pixels % finish_pixels_}) {
      if (count == 0) continue;
      finish.pixels = static_cast<int>(count);
      if (auto status = keep(code.finish[static_cast<std::size_t>(count)], tile_code(finish)); !status) return status;
    }
  }
  return ok_status();
}

// ---- a run ----

void AmxStep::run(const StepBuffers& buffers, ItemRange range) const noexcept {
  if (range.begin >= range.end) return;
  auto* const finishes = reinterpret_cast<AmxFinish*>(buffers.scratch);
  for (std::int64_t i = 0; i < most_finishes_; ++i)
    finishes[i] = {.args = {.constants = constants_.get(), .repeats = 1}, .code = registers_.nothing()};
  std::byte* const sums = buffers.scratch + finishes_bytes_;
  AmxLines lines(g_, lines_, x_zero_point_, reinterpret_cast<std::uint8_t*>(sums + layout_.sums_bytes()));
  AmxArgs args{.sums = sums,
               .finishes = finishes,
               .ahead = buffers.ahead.data(),
               .ahead_bytes = AmxArgs::kLinesAhead * AmxArgs::kLineBytes};
  registers_.configure();
  Item item = item_of(range.begin);
  for (std::int64_t index = range.begin; index < range.end; ++index) {
    find_units(buffers, lines, item, args);
    run_blocks(buffers, item, args);
    advance(item);
  }
  registers_.store(sums);
  for (std::int64_t i = 0; i < most_finishes_; ++i) finishes[i].code(&finishes[i].args);
  registers_.release();
}

Item AmxStep::item_of(std::int64_t index) const noexcept {
  const std::int64_t items_per_chunk = g_.batch * items_per_image_, in_chunk = index % items_per_chunk;
  Item item;
  item.chunk = index / items_per_chunk;
  item.image = in_chunk / items_per_image_;
  item.unit = in_chunk % items_per_image_ * schedule_.at_once;
  item.line = item.unit / schedule_.units.per_line * schedule_.units.lines;
  item.part = item.unit % schedule_.units.per_line;
  return item;
}

void AmxStep::advance(Item& item) const noexcept {
  item.unit += item.units;
  item.line = item.next_line;
  item.part = item.next_part;
  if (item.unit < units_per_image_) return;
  item.unit = item.line = item.part = 0;
  if (++item.image < g_.batch) return;
  item.image = 0;
  ++item.chunk;
}

// Where each unit begins, and the pieces of its sums. Units lie within the output: the last ones begin earlier, among
// pixels that others have too.
void AmxStep::find_units(const StepBuffers& buffers, AmxLines& lines, Item& item, AmxArgs& args) const noexcept {
  const AmxUnits& units = schedule_.units;
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]);
  item.units = static_cast<int>(std::min<std::int64_t>(schedule_.at_once, units_per_image_ - item.unit));
  item.pieces = 0;
  const std::int64_t last_line = g_.out_height - units.lines, last_pixel = g_.out_width - units.columns(g_);
  const std::int64_t first = std::min(item.line, last_line);
  const std::uint8_t* under = x + (item.image * g_.height + first * g_.stride_h) * x_line_bytes_;
  if (copies_) {
    const std::int64_t end = item.line + ((item.part + item.units - 1) / units.per_line + 1) * units.lines;
    under = lines.lines_under(x, item.image, first, std::min(end, g_.out_height) - first);
  }
  std::int64_t line = item.line, part = item.part;
  for (int u = 0; u < item.units; ++u) {
    const std::int64_t pixel = first_pixel(part), start = std::min(pixel, last_pixel),
                       start_line = std::min(line, last_line);
    args.x[static_cast<std::size_t>(u)] =
        under + (start_line - first) * g_.stride_h * x_line_bytes_ + start * g_.pixel_bytes();
    const std::int64_t end = std::min(line + units.lines, g_.out_height);
    for (std::int64_t i = line; i < end; ++i)
      add_pieces(item, u * layout_.rows + (i - start_line) * pitch_ + pixel - start,
                 {(item.image * g_.out_height + i) * g_.out_width + pixel, first_pixel(part + 1) - pixel});
    if (++part == units.per_line) part = 0, line += units.lines;
  }
  item.next_line = line;
  item.next_part = part;
}

// `pixels` of the output, whose sums begin at a row.
void AmxStep::add_pieces(Item& item, std::int64_t row, Pixels pixels) const noexcept {
  for (std::int64_t done = 0; done < pixels.count; done += finish_pixels_) {
    item.piece[static_cast<std::size_t>(item.pieces++)] = {row + done, pixels.first + done,
                                                           std::min(finish_pixels_, pixels.count - done)};
  }
}

void AmxStep::run_blocks(const StepBuffers& buffers, const Item& item, AmxArgs& args) const noexcept {
  const BlockRange& chunk = chunks_[static_cast<std::size_t>(item.chunk)];
  std::int64_t x_offset = 0;
  for (std::size_t b = chunk.begin; b < chunk.end; ++b) {
    const ChannelBlock& block = blocks_[b];
    if (block.x_offset != x_offset) {
      for (std::size_t u = 0; u < static_cast<std::size_t>(item.units); ++u) args.x[u] += block.x_offset - x_offset;
      x_offset = block.x_offset;
    }
    args.weights = packed_.weights + block.weights;
    look_ahead(buffers, args);
    codes_by_block_[b].multiply[static_cast<std::size_t>(item.units)](&args);
    add_finishes(buffers, item, b);
  }
}

// Before a block that would fetch beyond the end of what is ahead, a line that is at hand takes its place for good.
void AmxStep::look_ahead(const StepBuffers& buffers, AmxArgs& args) const noexcept {
  if (args.ahead_bytes == 0) return;
  const std::int64_t block_bytes = g_.kernel_h * g_.taps * g_.run_steps() * args.ahead_bytes,
                     left = buffers.ahead.data() + buffers.ahead.size() - args.ahead;
  if (left >= block_bytes) return;
  args.ahead = args.sums;
  args.ahead_bytes = 0;
}

std::span<const std::byte> AmxStep::reads(ItemRange range) const {
  if (range.begin >= range.end) return {};
  const std::int64_t items_per_chunk = g_.batch * items_per_image_;
  const auto chunk = [&](std::int64_t item) { return chunks_[static_cast<std::size_t>(item / items_per_chunk)]; };
  const std::size_t last = chunk(range.end - 1).end;
  const std::int64_t begin = blocks_[chunk(range.begin).begin].weights,
                     end = last < blocks_.size() ? blocks_[last].weights : weight_bytes_;
  return {packed_.weights + begin, static_cast<std::size_t>(end - begin)};
}

// What is left to do for a block whose sums are there.
void AmxStep::add_finishes(const StepBuffers& buffers, const Item& item, std::size_t b) const noexcept {
  const ChannelBlock& block = blocks_[b];
  const BlockCode& code = codes_by_block_[b];
  const std::byte* const residual = other_ >= 0 ? buffers.inputs[static_cast<std::size_t>(other_)] : nullptr;
  const float* const multiplier = packed_.multipliers_from(block.lane);
  const std::int32_t* const w_offset = packed_.w_offset + (g_.sums_x ? block.lane : 0);
  auto* finish = reinterpret_cast<AmxFinish*>(buffers.scratch);
  const auto* const sums = reinterpret_cast<const std::int32_t*>(buffers.scratch + finishes_bytes_);
  for (int i = 0; i < item.pieces; ++i, ++finish) {
    const Piece& piece = item.piece[static_cast<std::size_t>(i)];
    const std::int64_t element = piece.pixel * g_.out_channels + block.first;
    finish->args.bias = packed_.bias + block.lane;
    finish->args.multiplier = multiplier;
    finish->args.w_offset = w_offset;
    finish->args.sums = sums + piece.row * layout_.vectors * kTileAmx.lanes;
    finish->args.y = buffers.outputs[0] + element * static_cast<std::int64_t>(out_bytes_);
    if (residual != nullptr) finish->args.residual = residual + element * residual_bytes_;
    if (x_scale_ >= 0) {
      finish->args.x_scales =
          reinterpret_cast<const float*>(buffers.inputs[static_cast<std::size_t>(x_scale_)]) + piece.pixel;
      finish->args.x_zero_points = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kHybridXZero]) + piece.pixel;
    }
    finish->code = code.finish[static_cast<std::size_t>(piece.count)];
  }
  for (std::int64_t i = item.pieces; i < most_finishes_; ++i, ++finish) finish->code = registers_.nothing();
}

}  // namespace

Result<std::unique_ptr<Step>> prepare_amx(const StepSpec& spec) {
  auto call = checked_conv(spec, kTileAmx);
  if (!call) return call.errors();
  if (call->parts.in_run != nullptr) return refused_conv("needs a scale known at compile time");
  return prepare_scaled_amx(spec, std::move(*call));
}

Result<std::unique_ptr<Step>> prepare_scaled_amx(const StepSpec& spec, CheckedConv call) {
  if (std::string reason = amx_refusal(call.geometry); !reason.empty()) return refused_conv(std::move(reason));
  return AmxStep::make(spec, std::move(call));
}

}  // namespace octavo
