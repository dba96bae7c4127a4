// Choosing a schedule by what its parts cost. Part of kernels/conv/.
#include "kernels/conv/amx_schedule.h"

#include <algorithm>
#include <cmath>

#include "base/tensor.h"
#include "kernels/conv/amx_tile.h"

namespace octavo {
namespace {

// Cycles, as measured on Granite Rapids.
constexpr double kLeastRows = 9.25;                 // a multiply of fewer rows takes as long
constexpr double kLoadL1 = 8.0, kLoadL2 = 20.0;     // of a tile
constexpr double kFinish = 3.8;                     // of a vector of sums
constexpr double kBlock = 70.0, kItem = 150.0;      // a call, and what comes with new pixels
constexpr double kCopy = 1.0 / 24.0;                // of a byte of x
constexpr std::int64_t kInL1 = 24 << 10;

// Of one block for `units` units.
double block_cycles(const ConvGeometry& g, const AmxUnits& unit, int units, int vectors, double pixels,
                    std::int64_t resident_weights) {
  const double load_w = resident_weights > kInL1 ? kLoadL2 : kLoadL1;
  const double multiply = units * vectors * std::max<double>(unit.rows, kLeastRows);
  const double step = std::max(multiply, kLoadL1 * units + load_w * vectors);
  const double work = step * static_cast<double>(g.kernel_h * g.taps * g.run_steps());
  const double finish = kFinish * pixels * vectors;
  return std::max(work, finish) + 0.15 * std::min(work, finish) + kBlock;
}

// Units that are worth looking at: lines cut so that registers are full or nearly, or several lines in one register.
std::vector<AmxUnits> units_of(const ConvGeometry& g, bool copies) {
  constexpr std::int64_t kTried = 8;
  std::vector<AmxUnits> all;
  const std::int64_t fewest = ceil_div(g.out_width, AmxLayout::kMostRows);
  for (std::int64_t n = fewest; n < fewest + kTried && n <= g.out_width; ++n)
    all.push_back({.per_line = n, .rows = static_cast<int>(ceil_div(g.out_width, n))});
  if (!copies || g.stride_h != 1 || g.stride_w != 1) return all;
  const std::int64_t pitch = amx_columns(g);
  for (std::int64_t lines = 2; lines <= g.out_height; ++lines) {
    const std::int64_t rows = (lines - 1) * pitch + g.out_width;
    if (rows > AmxLayout::kMostRows) break;
    all.push_back({.lines = lines, .rows = static_cast<int>(rows)});
  }
  return all;
}

int most_at_once(const ChannelBlocks& blocks) {
  if (blocks.max_vectors == 1) return 4;
  return blocks.max_vectors == 2 ? 2 : 1;
}

// Of one image, all items, for the blocks of a chunk.
double chunk_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxSchedule& schedule,
                    const BlockRange& chunk) {
  const std::int64_t units = schedule.units.per_image(g), items = schedule.items_per_image(g);
  const double pixels = static_cast<double>(g.out_height * g.out_width) / static_cast<double>(items);
  const double share = static_cast<double>(units) / static_cast<double>(items) / schedule.at_once;
  const std::int64_t resident = blocks.weight_bytes * static_cast<std::int64_t>(chunk.end - chunk.begin) /
                                static_cast<std::int64_t>(blocks.blocks.size());
  double cycles = kItem;
  for (std::size_t b = chunk.begin; b < chunk.end; ++b)
    cycles += block_cycles(g, schedule.units, schedule.at_once, blocks.blocks[b].vectors, pixels, resident) * share;
  const double copy =
      schedule.copies_x ? kCopy * static_cast<double>(g.height * amx_columns(g) * g.channels) : 0.0;
  return cycles * static_cast<double>(items) + copy;
}

// Of the thread with most items.
double slowest_thread(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxSchedule& schedule, int threads) {
  const std::int64_t items = g.batch * schedule.items_per_image(g) * static_cast<std::int64_t>(schedule.chunks.size());
  const double rounding = static_cast<double>(ceil_div(items, threads) * threads) / static_cast<double>(items);
  return amx_cycles(g, blocks, schedule) / threads * rounding;
}

}  // namespace

std::string amx_refusal(const ConvGeometry& g) {
  constexpr std::int64_t kMostLineBytes = std::int64_t{1} << 26;
  const std::int64_t columns = std::max(amx_columns(g), g.width);
  return columns > kMostLineBytes / g.channels / (g.kernel_h + g.stride_h) && g.kernel_h * g.kernel_w > 1
             ? "needs less than 64 MiB of input in the lines under one line of output"
             : "";
}

std::int64_t amx_columns(const ConvGeometry& g) {
  return (g.out_width - 1) * g.stride_w + (g.kernel_w - 1) * g.dilation_w + 1;
}

double amx_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxSchedule& schedule) {
  double cycles = 0.0;
  for (const BlockRange& chunk : schedule.chunks) cycles += chunk_cycles(g, blocks, schedule, chunk);
  return cycles * static_cast<double>(g.batch);
}

bool amx_needs_copies(const ConvGeometry& g, const AmxConditions& conditions) {
  const bool is_inside = g.pad_left == 0 && g.pad_top == 0 && amx_columns(g) <= g.width &&
                         (g.out_height - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h < g.height;
  return !is_inside || g.overread() > (conditions.may_read_beyond ? static_cast<std::int64_t>(kReadSlack) : 0);
}

AmxSchedule amx_schedule(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxConditions& conditions) {
  constexpr double kGain = 0.98;  // more units and more chunks must pay
  const auto count = static_cast<std::int64_t>(blocks.blocks.size());
  const std::int64_t together =
      std::clamp<std::int64_t>(conditions.l2_bytes / 2 * count / blocks.weight_bytes, 1, count);
  const std::int64_t fewest_chunks = ceil_div(count, together);
  const std::int64_t most_chunks = std::min(count, fewest_chunks + 2 * conditions.threads);
  AmxSchedule best;
  double least = HUGE_VAL;
  const bool copies = amx_needs_copies(g, conditions);
  for (const AmxUnits& units : units_of(g, copies)) {
    const std::int64_t at_once = std::min<std::int64_t>(most_at_once(blocks), units.per_image(g));
    for (std::int64_t chunks = fewest_chunks; chunks <= most_chunks; ++chunks) {
      AmxSchedule schedule{units, static_cast<int>(at_once), copies, even_chunks(count, chunks)};
      const double cycles = slowest_thread(g, blocks, schedule, conditions.threads);
      if (cycles < kGain * least) least = cycles, best = std::move(schedule);
    }
  }
  return best;
}

}  // namespace octavo
