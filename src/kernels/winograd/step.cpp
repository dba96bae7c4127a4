// The step of a Winograd convolution: transform tiles of x, multiply position by position, transform back, finish. Part
// of kernels/winograd/.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/conv/epilogue.h"
#include "kernels/winograd/schedule.h"
#include "kernels/winograd/weights.h"
#include "kernels/winograd/winograd_step.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

class WinogradStep final : public Step {
 public:
  static Result<std::unique_ptr<Step>> make(const StepSpec& spec, const WinogradTarget& target,
                                            const WinogradGeometry& g, const WinogradSchedule& schedule,
                                            const EpilogueParts& epilogue, const PackedConv& packed,
                                            std::span<const std::int32_t> parts);

  std::int64_t items() const override { return schedule_.by_channels ? g_.blocks() : groups_.tiles_per_line; }
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(sizes_.total()); }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override;
  std::vector<std::byte> schedule() const override { return schedule_.encode(); }

 private:
  struct Scratch {
    std::int16_t* v;      // [position][tile of the chunk][padded channel]
    std::int32_t* m;      // [position][tile of the chunk][vector][lane]
    std::int32_t* sums;   // [row][pixel of the group][vector][lane], of all groups of a chunk where there are parts
    std::uint8_t* patch;  // a tile of x with padding
  };
  struct Place {  // of a tile
    std::int64_t image, row, column;
  };
  struct Product {  // what computes `tiles` x `vectors` over `pairs`, the first of a part or added to those before
    int tiles, vectors;
    std::int32_t pairs;
    bool adds;
    Tile tile;
  };
  struct Slice {  // of a part's pairs
    std::int64_t begin, count;
  };
  struct Finish {  // what finishes `pixels` of `channels`
    int pixels, channels;
    Tile tile;
  };
  WinogradStep(const WinogradTarget& target, const WinogradGeometry& g, const WinogradSchedule& schedule,
               const PackedConv& packed, std::shared_ptr<const TransformedWeights> weights);
  Status emit(const TileConfig& finish);
  Status emit_products(int vectors, std::int64_t block);
  Status emit_product(int vectors, Slice slice);
  std::int64_t slices_of(const WinogradPart& part) const noexcept;
  Slice slice_of(const WinogradPart& part, std::int64_t index) const noexcept;
  std::int32_t lines_ahead(int vectors, Slice slice) const noexcept;
  const std::vector<WinogradPart>& parts_of(std::int64_t block) const noexcept {
    return weights_->blocks[static_cast<std::size_t>(block)];
  }
  Scratch scratch_of(std::byte* scratch) const noexcept;
  Place place_of(std::int64_t tile) const noexcept;
  int lanes_of(std::int64_t block) const noexcept { return g_.vectors_of(block) * g_.lanes; }

  void run_chunk(const StepBuffers& buffers, const Scratch& scratch, ItemRange groups, ItemRange blocks) const noexcept;
  void transform_input(const std::uint8_t* x, const Scratch& scratch, std::int64_t first,
                       std::int64_t last) const noexcept;
  void fill_patch(const std::uint8_t* x, std::uint8_t* patch, const Place& place) const noexcept;
  void run_block(const StepBuffers& buffers, const Scratch& scratch, std::int64_t block,
                 ItemRange groups) const noexcept;
  void multiply(const Scratch& scratch, std::int64_t block, const WinogradPart& part, ItemRange groups) const noexcept;
  void multiply_slice(const Scratch& scratch, std::int64_t block, const WinogradPart& part, Slice slice, int position,
                      ItemRange groups) const noexcept;
  const Tile& product_of(int tiles, int vectors, Slice slice) const noexcept;
  void sum(const Scratch& scratch, std::int64_t block, const WinogradPart& part, std::int64_t first,
           int tiles) const noexcept;
  void finish(const StepBuffers& buffers, const Scratch& scratch, std::int64_t block, std::int64_t first,
              int tiles) const noexcept;

  WinogradTarget target_;
  WinogradGeometry g_;
  WinogradSchedule schedule_;
  PackedConv packed_;
  std::shared_ptr<const TransformedWeights> weights_;
  std::uint8_t x_zero_point_ = 0;
  PixelTiles groups_;  // of tiles that are multiplied together
  bool has_parts_ = false;
  WinogradScratch sizes_;
  std::size_t out_bytes_ = 1;
  std::int64_t residual_bytes_ = 1;
  int other_ = -1;  // the input that is added, where there is one
  std::unique_ptr<TileConstants> constants_;
  std::vector<Product> products_;
  std::vector<Finish> finishes_;
};

// ---- preparation ----

WinogradStep::WinogradStep(const WinogradTarget& target, const WinogradGeometry& g, const WinogradSchedule& schedule,
                           const PackedConv& packed, std::shared_ptr<const TransformedWeights> weights)
    : target_(target),
      g_(g),
      schedule_(schedule),
      packed_(packed),
      weights_(std::move(weights)),
      groups_(tile_groups(g, schedule.groups)),
      has_parts_(std::any_of(weights_->blocks.begin(), weights_->blocks.end(),
                             [](const auto& parts) { return parts.size() > 1; })),
      sizes_(winograd_scratch(g, schedule, has_parts_ ? WinogradParts::several : WinogradParts::one)) {}

// The weights of a slice stay in L1 while the groups of tiles pass.
std::int64_t WinogradStep::slices_of(const WinogradPart& part) const noexcept {
  return ceil_div(part.pairs, schedule_.slice);
}

WinogradStep::Slice WinogradStep::slice_of(const WinogradPart& part, std::int64_t index) const noexcept {
  const std::int64_t begin = index * schedule_.slice;
  return {begin, std::min(schedule_.slice, part.pairs - begin)};
}

// Each group of tiles fetches its share of as many weights as it multiplies with: those of the next position.
std::int32_t WinogradStep::lines_ahead(int vectors, Slice slice) const noexcept {
  if (!schedule_.prefetches) return 0;
  return static_cast<std::int32_t>(ceil_div(slice.count * vectors * g_.lanes * 4, 64 * schedule_.chunk));
}

Status WinogradStep::emit_product(int vectors, Slice slice) {
  const auto pairs = static_cast<std::int32_t>(slice.count);
  const bool adds = slice.begin > 0;
  for (int tiles = std::max(1, groups_.pixels - 1); tiles <= groups_.pixels; ++tiles) {
    const auto is_same = [&](const Product& p) {
      return p.tiles == tiles && p.vectors == vectors && p.pairs == pairs && p.adds == adds;
    };
    if (std::any_of(products_.begin(), products_.end(), is_same)) continue;
    auto tile = tile_of({.target = target_.pairs,
                         .kind = TileKind::products,
                         .pixels = tiles,
                         .vectors = vectors,
                         .channels = vectors * g_.lanes,
                         .pixel_bytes = static_cast<std::int32_t>(g_.padded_channels * 2),
                         .out_channels = vectors * g_.lanes,
                         .run_dwords = pairs,
                         .to = DType::s32,
                         .ahead_lines = lines_ahead(vectors, slice),
                         .adds_to_y = adds});
    if (!tile) return tile.errors();
    products_.push_back({tiles, vectors, pairs, adds, std::move(*tile)});
  }
  return ok_status();
}

Status WinogradStep::emit_products(int vectors, std::int64_t block) {
  for (const WinogradPart& part : parts_of(block)) {
    for (std::int64_t i = 0; i < slices_of(part); ++i) {
      if (auto status = emit_product(vectors, slice_of(part, i)); !status) return status;
    }
  }
  return ok_status();
}

Status WinogradStep::emit(const TileConfig& finish) {
  for (std::int64_t block = 0; block < g_.blocks(); ++block) {
    const int vectors = g_.vectors_of(block);
    if (auto status = emit_products(vectors, block); !status) return status;
    const auto channels = static_cast<int>(
        std::min<std::int64_t>(lanes_of(block), g_.out_channels - block * g_.block_vectors * g_.lanes));
    for (const int pixels : {kWinogradOutput, static_cast<int>(g_.out_width % kWinogradOutput)}) {
      const auto is_same = [&](const Finish& f) { return f.pixels == pixels && f.channels == channels; };
      if (pixels == 0 || std::any_of(finishes_.begin(), finishes_.end(), is_same)) continue;
      TileConfig config = finish;
      config.pixels = pixels;
      config.vectors = config.sum_vectors = vectors;
      config.channels = channels;
      config.kind = TileKind::sums;
      auto tile = tile_of(config);
      if (!tile) return tile.errors();
      finishes_.push_back({pixels, channels, std::move(*tile)});
    }
  }
  return ok_status();
}

Result<std::unique_ptr<Step>> WinogradStep::make(const StepSpec& spec, const WinogradTarget& target,
                                                 const WinogradGeometry& g, const WinogradSchedule& schedule,
                                                 const EpilogueParts& epilogue, const PackedConv& packed,
                                                 std::span<const std::int32_t> parts) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  auto weights = transformed_weights(g, *target.functions, packed.weights, parts);
  if (!weights) return weights.errors();
  std::unique_ptr<WinogradStep> step(new WinogradStep(target, g, schedule, packed, std::move(*weights)));
  step->x_zero_point_ = static_cast<std::uint8_t>(attrs.x_zero_point);
  step->other_ = epilogue.other;
  step->out_bytes_ = size_of(spec.outputs[0].dtype);
  step->residual_bytes_ = epilogue.residual_bytes(spec);
  step->constants_ = epilogue_constants(epilogue, g.lanes, packed.table);
  if (auto status = step->emit(epilogue_config(spec, epilogue, target.epilogue, packed)); !status)
    return status.errors();
  return std::unique_ptr<Step>(std::move(step));
}

// ---- a run ----

WinogradStep::Scratch WinogradStep::scratch_of(std::byte* scratch) const noexcept {
  std::byte* const m = scratch + sizes_.v_bytes;
  std::byte* const sums = m + sizes_.m_bytes;
  return {reinterpret_cast<std::int16_t*>(scratch), reinterpret_cast<std::int32_t*>(m),
          reinterpret_cast<std::int32_t*>(sums), reinterpret_cast<std::uint8_t*>(sums + sizes_.sums_bytes)};
}

WinogradStep::Place WinogradStep::place_of(std::int64_t tile) const noexcept {
  const std::int64_t line = tile / g_.tile_columns;
  return {line / g_.tile_rows, line % g_.tile_rows, tile % g_.tile_columns};
}

void WinogradStep::run(const StepBuffers& buffers, ItemRange range) const noexcept {
  const Scratch scratch = scratch_of(buffers.scratch);
  const ItemRange groups = schedule_.by_channels ? ItemRange{0, groups_.tiles_per_line} : range;
  const ItemRange blocks = schedule_.by_channels ? range : ItemRange{0, g_.blocks()};
  if (blocks.begin >= blocks.end) return;
  for (std::int64_t group = groups.begin; group < groups.end; group += schedule_.chunk) {
    run_chunk(buffers, scratch, {group, std::min(groups.end, group + schedule_.chunk)}, blocks);
  }
}

void WinogradStep::run_chunk(const StepBuffers& buffers, const Scratch& scratch, ItemRange groups,
                             ItemRange blocks) const noexcept {
  const std::int64_t first = groups_.first_pixel(groups.begin);
  transform_input(reinterpret_cast<const std::uint8_t*>(buffers.inputs[kConvX]), scratch, first,
                  groups_.first_pixel(groups.end));
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block) run_block(buffers, scratch, block, groups);
}

void WinogradStep::run_block(const StepBuffers& buffers, const Scratch& scratch, std::int64_t block,
                             ItemRange groups) const noexcept {
  const std::int64_t first = groups_.first_pixel(groups.begin);
  for (const WinogradPart& part : parts_of(block)) {
    multiply(scratch, block, part, groups);
    for (std::int64_t group = groups.begin; group < groups.end; ++group) {
      const std::int64_t begin = groups_.first_pixel(group);
      const auto tiles = static_cast<int>(groups_.first_pixel(group + 1) - begin);
      Scratch own = scratch;
      if (has_parts_) own.sums += 16 * (begin - first) * lanes_of(block);
      sum(own, block, part, begin - first, tiles);
      if (&part == &parts_of(block).back()) finish(buffers, own, block, begin, tiles);
    }
  }
}

void WinogradStep::transform_input(const std::uint8_t* x, const Scratch& scratch, std::int64_t first,
                                   std::int64_t last) const noexcept {
  const std::int64_t x_bytes = g_.batch * g_.height * g_.width * g_.channels;
  for (std::int64_t tile = first; tile < last; ++tile) {
    const Place place = place_of(tile);
    const std::int64_t row = place.row * kWinogradOutput - g_.pad_top,
                       column = place.column * kWinogradOutput - g_.pad_left;
    const std::int64_t start = ((place.image * g_.height + row) * g_.width + column) * g_.channels;
    const std::int64_t end = start + (5 * g_.width + 5) * g_.channels + g_.padded_channels;
    const bool is_inside = row >= 0 && column >= 0 && row + kWinogradSide <= g_.height &&
                           column + kWinogradSide <= g_.width && end <= x_bytes;
    if (!is_inside) fill_patch(x, scratch.patch, place);
    target_.functions->input({.x = is_inside ? x + start : scratch.patch,
                              .row_bytes = (is_inside ? g_.width : kWinogradSide) * g_.channels,
                              .pixel_bytes = g_.channels,
                              .channels = g_.channels,
                              .v = scratch.v + (tile - first) * g_.padded_channels,
                              .position_stride = sizes_.v_stride});
  }
}

void WinogradStep::fill_patch(const std::uint8_t* x, std::uint8_t* patch, const Place& place) const noexcept {
  const std::int64_t column = place.column * kWinogradOutput - g_.pad_left;
  const std::int64_t begin = std::clamp<std::int64_t>(-column, 0, kWinogradSide);
  const std::int64_t end = std::clamp<std::int64_t>(g_.width - column, begin, kWinogradSide);
  std::memset(patch, x_zero_point_, static_cast<std::size_t>(kWinogradPositions * g_.channels));
  for (std::int64_t i = 0; i < kWinogradSide && begin < end; ++i) {
    const std::int64_t row = place.row * kWinogradOutput - g_.pad_top + i;
    if (row < 0 || row >= g_.height) continue;
    const std::uint8_t* from = x + ((place.image * g_.height + row) * g_.width + column + begin) * g_.channels;
    std::memcpy(patch + (i * kWinogradSide + begin) * g_.channels, from,
                static_cast<std::size_t>((end - begin) * g_.channels));
  }
}

// m = v * u, position by position and slice by slice.
void WinogradStep::multiply(const Scratch& scratch, std::int64_t block, const WinogradPart& part,
                            ItemRange groups) const noexcept {
  for (int position = 0; position < kWinogradPositions; ++position) {
    for (std::int64_t i = 0; i < slices_of(part); ++i)
      multiply_slice(scratch, block, part, slice_of(part, i), position, groups);
  }
}

void WinogradStep::multiply_slice(const Scratch& scratch, std::int64_t block, const WinogradPart& part, Slice slice,
                                  int position, ItemRange groups) const noexcept {
  const std::int64_t lanes = lanes_of(block), first = groups_.first_pixel(groups.begin),
                     lines = lines_ahead(g_.vectors_of(block), slice);
  const std::uint8_t* row = nullptr;
  TileArgs args{.rows = &row, .row_count = 1, .constants = constants_.get()};
  args.weights = part.u + position * part.position_stride + slice.begin * lanes * 4;
  const std::int64_t wide_end = std::clamp(groups_.wide_tiles, groups.begin, groups.end);
  for (const ItemRange run : {ItemRange{groups.begin, wide_end}, ItemRange{wide_end, groups.end}}) {
    args.repeats = run.end - run.begin;
    if (args.repeats == 0) continue;
    const std::int64_t begin = groups_.first_pixel(run.begin), tile = begin - first;
    args.prefetch = args.weights + part.position_stride + (run.begin - groups.begin) * lines * 64;
    row = reinterpret_cast<const std::uint8_t*>(scratch.v + position * sizes_.v_stride + tile * g_.padded_channels +
                                                (part.first_pair + slice.begin) * 2);
    args.y = reinterpret_cast<std::byte*>(scratch.m + position * sizes_.m_stride + tile * lanes);
    product_of(static_cast<int>(groups_.first_pixel(run.begin + 1) - begin), g_.vectors_of(block), slice)(args);
  }
}

const Tile& WinogradStep::product_of(int tiles, int vectors, Slice slice) const noexcept {
  const auto is_same = [&](const Product& p) {
    return p.tiles == tiles && p.vectors == vectors && p.pairs == slice.count && p.adds == (slice.begin > 0);
  };
  return std::find_if(products_.begin(), products_.end(), is_same)->tile;
}

// first: the group's first tile within the chunk.
void WinogradStep::sum(const Scratch& scratch, std::int64_t block, const WinogradPart& part, std::int64_t first,
                       int tiles) const noexcept {
  const std::int64_t lanes = lanes_of(block);
  for (int tile = 0; tile < tiles; ++tile) {
    target_.functions->sums({.m = scratch.m + (first + tile) * lanes,
                             .position_stride = sizes_.m_stride,
                             .vectors = g_.vectors_of(block),
                             .y = scratch.sums + tile * kWinogradOutput * lanes,
                             .row_stride = tiles * kWinogradOutput * lanes,
                             .pixel_stride = lanes,
                             .adds = part.first_pair > 0});
  }
}

// Rows of outputs of the tiles that lie side by side. first: the group's first tile.
void WinogradStep::finish(const StepBuffers& buffers, const Scratch& scratch, std::int64_t block, std::int64_t first,
                          int tiles) const noexcept {
  const std::byte* residual = other_ >= 0 ? buffers.inputs[static_cast<std::size_t>(other_)] : nullptr;
  const std::int64_t lane = block * g_.block_vectors * g_.lanes, lanes = lanes_of(block);
  const std::int64_t channels = std::min(lanes, g_.out_channels - lane);
  TileArgs args{
      .bias = packed_.bias + lane, .multiplier = packed_.multipliers_from(lane), .constants = constants_.get()};
  for (std::int64_t tile = 0; tile < tiles;) {
    const Place place = place_of(first + tile);
    const std::int64_t count = std::min(tiles - tile, g_.tile_columns - place.column);
    const std::int64_t x = place.column * kWinogradOutput, pixels = std::min(count * kWinogradOutput, g_.out_width - x);
    for (std::int64_t row = 0;
         row < std::min<std::int64_t>(kWinogradOutput, g_.out_height - place.row * kWinogradOutput); ++row) {
      const std::int64_t y = place.row * kWinogradOutput + row;
      for (std::int64_t done = 0; done < pixels;) {
        const auto width = static_cast<int>(std::min<std::int64_t>(kWinogradOutput, pixels - done));
        const std::int64_t element =
            ((place.image * g_.out_height + y) * g_.out_width + x + done) * g_.out_channels + lane;
        args.sums = scratch.sums + ((row * tiles + tile) * kWinogradOutput + done) * lanes;
        args.repeats = width == kWinogradOutput ? (pixels - done) / kWinogradOutput : 1;
        args.residual = residual + (residual != nullptr ? element * residual_bytes_ : 0);
        args.y = buffers.outputs[0] + element * static_cast<std::int64_t>(out_bytes_);
        const auto finish = std::find_if(finishes_.begin(), finishes_.end(),
                                         [&](const Finish& f) { return f.pixels == width && f.channels == channels; });
        finish->tile(args);
        done += width * args.repeats;
      }
    }
    tile += count;
  }
}

}  // namespace

Result<std::unique_ptr<Step>> prepare_winograd(const StepSpec& spec, const WinogradTarget& target) {
  const auto& attrs = spec.attrs->as<QuantizedConvAttrs>();
  const Shape &x = spec.inputs[kConvX].shape, &w = spec.inputs[kConvW].shape;
  const auto epilogue = checked_parts(spec);
  if (!epilogue) return epilogue.errors();
  if (epilogue->rest >= 0) return refused_conv("needs a bias of whole units");
  for (std::string reason : {geometry_refusal(attrs, x, w), winograd_geometry_refusal(attrs, x, w)}) {
    if (!reason.empty()) return refused_conv(std::move(reason));
  }
  if (spec.inputs[kConvX].dtype != DType::u8) return refused_conv("needs an input of type u8");
  if (spec.inputs.size() > kConvOffset && spec.inputs[kConvOffset].is_present)
    return refused_conv("needs weights without a zero point");
  const WinogradGeometry g = winograd_geometry(attrs, x, w, spec.outputs[0].shape, target);
  if (spec.packed.empty() || spec.packed.back().dtype != DType::s32 || spec.packed.back().shape != Shape{g.blocks()} ||
      spec.packed.back().data == nullptr) {
    return refused_conv("needs a number of parts for each block");
  }
  const std::span<const std::int32_t> parts = spec.packed.back().span<std::int32_t>();
  if (std::any_of(parts.begin(), parts.end(), [&](std::int32_t n) { return n < 1 || n > g.pairs; }))
    return refused_conv("needs parts of one pair or more");
  StepSpec direct = spec;
  direct.packed.pop_back();
  auto packed = checked_packed(direct, *epilogue, {DType::s8, g.weight_bytes(), g.vectors * g.lanes, false});
  if (!packed) return packed.errors();
  const auto schedule = spec.schedule.empty() ? winograd_schedule(g, target, spec.threads, spec.speeds)
                                              : decode_winograd_schedule(spec.schedule, g, target);
  if (!schedule) return refused_conv("needs a schedule that is legal for the shape");
  return WinogradStep::make(spec, target, g, *schedule, *epilogue, *packed, parts);
}

}  // namespace octavo
