// Sizes, panels and schedules of fused_conv. Part of kernels/float/.
#include "kernels/float/fused_conv_params.h"

#include <algorithm>
#include <set>

#include "kernels/schedule.h"

namespace octavo::fused_conv {
namespace {

// The pointers of more rows than these leave the registers: 11 and 12 rows take 5 % longer than 8 to 10 (Zen 4, the
// layers of ResNet-18 and MobileNetV2, 2026-11).
constexpr std::int64_t kMostPointers = 10;
constexpr std::int64_t kMostEvenBlocks = 8;

// Blocks of nearly the same size, so that threads have as much to do as each other. Few blocks: panels first, each
// thread some of them, so that weights are read once (257 x 1280 by 1280 x 5120 on two threads: 8.9 now 6.9 ms, Zen 5).
Schedule chosen_schedule(const Params& p) {
  constexpr std::int64_t kMostTiles = 8, kFewBlocks = 8, kManyUnits = 16;
  const std::int64_t rows = std::min(kMostPointers, p.most_rows), most = std::min(kMostTiles, p.most_tiles(rows));
  const std::int64_t all = std::max<std::int64_t>(1, (p.positions() + rows - 1) / rows),
                     blocks = (all + most - 1) / most;
  return {.rows = rows,
          .tiles = (all + blocks - 1) / blocks,
          .by_panels = blocks > 1 && blocks <= kFewBlocks && p.units() >= kManyUnits};
}

bool is_legal(const Schedule& s, const Params& p) {
  return !is_depthwise(p) && s.rows >= 1 && s.rows <= p.most_rows && s.tiles >= 1 && s.tiles <= p.most_tiles(s.rows) &&
         (!s.by_panels || p.units() > 1);
}

// Relu, clip and nothing are a clamp.
bool set_clamp(Params& p, const UnaryAttrs& activation) {
  if (activation.kind == UnaryKind::relu) p.lowest = 0.0f;
  if (activation.kind == UnaryKind::clip) p.lowest = activation.alpha, p.highest = activation.beta;
  return activation.kind == UnaryKind::identity || activation.kind == UnaryKind::relu ||
         activation.kind == UnaryKind::clip;
}

}  // namespace

std::vector<std::byte> Schedule::encode() const { return encode_schedule({{rows, tiles, by_panels ? 1 : 0}}); }

bool is_depthwise(const Params& p) { return p.x.channels == p.groups && p.y.channels == p.groups; }

Panel panel_at(const Params& p, std::int64_t unit) {
  const std::int64_t group = unit / p.panels(), panel = unit % p.panels(), first = panel * p.panel_width();
  return {.group = group,
          .first = first,
          .width = std::min(p.panel_width(), p.out_per_group() - first),
          .vectors = panel + 1 == p.panels() ? static_cast<int>(p.last_vectors()) : kChainVectors};
}

std::int64_t column_of(const Params& p, const Panel& panel) { return panel.group * p.columns() + panel.first; }

Panel packed_panel_at(const Params& p, std::int64_t unit) {
  Panel panel = panel_at(p, unit);
  panel.weights = p.weights + column_of(p, panel) * p.links();
  panel.bias = p.bias + column_of(p, panel);
  return panel;
}

std::optional<Schedule> decode(std::span<const std::byte> bytes, const Params& p) {
  const auto numbers = decode_schedule(bytes, std::size(kKnobs));
  if (!numbers || (*numbers)[2] > 1) return std::nullopt;
  const Schedule schedule{(*numbers)[0], (*numbers)[1], (*numbers)[2] == 1};
  return is_legal(schedule, p) ? std::optional(schedule) : std::nullopt;
}

Params params_of(const CallView& call, const SumFunctions& sums) {
  const auto& conv = call.attrs->as<FusedConvAttrs>();
  Params p{.x = ImageSizes::of(*call.input(kX).shape, Layout::channels_last),
           .y = ImageSizes::of(*call.output().shape, Layout::channels_last),
           .groups = conv.groups,
           .lanes = sums.chain_lanes,
           .most_rows = sums.chain_rows,
           .numbers = {conv.activation.alpha, conv.activation.beta},
           .residual = conv.residual,
           .has_bias = call.input(kBias).exists(),
           .chains = sums.chains,
           .channel_chains = sums.channel_chains};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    p.kernel[axis] = conv.window.kernel[axis], p.stride[axis] = conv.window.strides[axis];
    p.dilation[axis] = conv.window.dilations[axis], p.pad[axis] = conv.window.pad_begin[axis];
  }
  for (std::int64_t kh = 0; kh < p.kernel[0]; ++kh) {
    for (std::int64_t kw = 0; kw < p.kernel[1]; ++kw)
      p.offsets.push_back(kh * p.dilation[0] * p.x.strides.row + kw * p.dilation[1] * p.x.strides.column);
  }
  p.schedule = chosen_schedule(p);
  return p;
}

Params params_of(const CallView& call, const SumFunctions& sums, const EltwiseFunctions& eltwise) {
  Params p = params_of(call, sums);
  const UnaryAttrs& activation = call.attrs->as<FusedConvAttrs>().activation;
  if (!set_clamp(p, activation)) p.activation = eltwise.unary.of[static_cast<int>(activation.kind)];
  return p;
}

Packed Packed::of(const Params& p) {
  if (is_depthwise(p)) return {p.taps() * p.groups, p.groups};
  return {p.groups * p.columns() * p.links(), p.groups * p.columns()};
}

std::vector<Schedule> schedules_of(const Params& p) {
  std::vector<Schedule> all;
  if (p.positions() == 0) return all;
  for (std::int64_t rows = p.most_rows; rows >= std::max<std::int64_t>(1, p.most_rows / 3); --rows) {
    const std::int64_t whole = (p.positions() + rows - 1) / rows;
    std::set<std::int64_t> tiles{1, 2, 3, 4, 6, 8, 12, 16};
    // A few blocks of nearly the same size.
    for (std::int64_t blocks = 1; blocks <= kMostEvenBlocks; ++blocks) tiles.insert((whole + blocks - 1) / blocks);
    for (const std::int64_t count : tiles) {
      for (const bool by_panels : {false, true}) {
        const Schedule tried{rows, count, by_panels};
        const bool is_whole = count == 1 || (count - 1) * rows < p.positions();  // else the same as with fewer tiles
        if (is_whole && is_legal(tried, p)) all.push_back(tried);
      }
    }
  }
  return all;
}

// Of all positions by all panels, what the first of the threads does: of so many items, the last block being a smaller
// one.
double first_share(const Params& p, const Schedule& s, std::int64_t blocks, std::int64_t items) {
  const std::int64_t block = s.tiles * s.rows, units = p.units(), positions = p.positions();
  const std::int64_t inner = s.by_panels ? blocks : units, whole = items / inner, rest = items % inner;
  const std::int64_t done = s.by_panels
                                ? whole * positions + std::min(rest * block, positions)
                                : std::min(whole * block, positions) * units +
                                      rest * std::min(block, std::max<std::int64_t>(positions - whole * block, 0));
  return static_cast<double>(done) / static_cast<double>(positions * units);
}

// A tile reads its weights, however few rows it has, and lists its pointers.
double schedule_cost(const Params& p, const Schedule& s, double all_ns, int threads) {
  constexpr double kLoadsOfRow = 0.12, kSpilled = 0.05;  // of a row's time: loading weights for a tile, and pointers
  constexpr double kPointer = 0.6, kItem = 60.0;
  const auto positions = static_cast<double>(p.positions());
  const auto tile_cost = [&](std::int64_t rows) {
    return 1.0 + kLoadsOfRow * static_cast<double>(p.most_rows) / static_cast<double>(rows) +
           (rows > kMostPointers ? kSpilled : 0.0);
  };
  const std::int64_t blocks = (p.positions() + s.tiles * s.rows - 1) / (s.tiles * s.rows), items = blocks * p.units(),
                     slowest = (items + threads - 1) / threads;
  const double lists =
      kPointer * positions * static_cast<double>(p.taps()) * (s.by_panels ? static_cast<double>(p.units()) : 1.0);
  // Weights that no cache keeps are read again for every block, unless panels come first.
  constexpr double kKept = 1 << 20, kFloatsPerNs = 4.0;
  const double weights = static_cast<double>(Packed::of(p).weights);
  const double again = weights < kKept || s.by_panels ? 0.0 : weights / kFloatsPerNs * static_cast<double>(blocks - 1);
  const double work = all_ns * tile_cost(s.rows) / tile_cost(chosen_schedule(p).rows) + lists + again +
                      kItem * static_cast<double>(items);
  return work * first_share(p, s, blocks, slowest);
}

}  // namespace octavo::fused_conv
