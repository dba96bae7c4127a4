// Searching the split of a direct convolution. Part of kernels/conv/.
#include "kernels/conv/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/schedule.h"

namespace octavo {
namespace {

// Of one vector times one dword of x, as measured on Cascade Lake: at best two vpdpbusd a cycle.
double cycles_per_step(MacStep step, const MachineSpeeds& speeds) {
  switch (step) {
    case MacStep::avx2_words: return 1.6;
    case MacStep::avx2_bytes: return 2.1;
    // By the units that cores have of them: one (A72), two (A76, N1, N2).
    case MacStep::neon_bytes: return 2.2;
    case MacStep::neon_pairs: return 2.0;
    case MacStep::neon_mmla: return 0.25;
    // Cores that start one vector in a cycle execute in order, and wait for loads that stand right before their use.
    case MacStep::neon_dot: return speeds.vectors_per_cycle < 2.0 ? 0.71 : 0.5;
    case MacStep::neon_dot_ahead: return 0.55;
    default: return 0.5;
  }
}

// Cycles of a tile of so many pixels for each block.
std::vector<double> block_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const ConvConditions& conditions,
                                 int pixels) {
  std::vector<double> cycles;
  for (std::size_t b = 0; b < blocks.blocks.size(); ++b) {
    const bool is_like_last = b > 0 && blocks.blocks[b].vectors == blocks.blocks[b - 1].vectors;
    cycles.push_back(is_like_last
                         ? cycles.back()
                         : tile_cycles(g, conditions.target, pixels, blocks.blocks[b].vectors, conditions.speeds));
  }
  return cycles;
}

// Cycles of one item of each chunk.
std::vector<double> item_cycles(const ConvSplit& split, const std::vector<double>& of_blocks) {
  std::vector<double> cycles;
  for (const BlockRange& range : split.chunks) {
    double sum = 0.0;
    for (std::size_t b = range.begin; b < range.end; ++b) sum += of_blocks[b];
    cycles.push_back(sum);
  }
  return cycles;
}

// Of the thread that takes longest. It waits for the weights of its first chunk; those of the others are fetched
// meanwhile, where they are.
double slowest_thread(const ConvSplit& split, const std::vector<double>& item_cycles, double bytes_per_block,
                      const ConvConditions& conditions) {
  const int threads = conditions.threads;
  const double from_level3 = conditions.speeds.bytes_per_cycle(conditions.speeds.level3_gbytes);
  const std::int64_t tiles = split.tiles.tiles(), items = tiles * static_cast<std::int64_t>(split.chunks.size());
  double slowest = 0.0;
  for (int thread = 0; thread < threads; ++thread) {
    const std::int64_t begin = items * thread / threads, end = items * (thread + 1) / threads;
    const std::int64_t first_chunk = std::min(begin, items - 1) / tiles;
    double own = 0.0;
    for (std::int64_t chunk = first_chunk; chunk == first_chunk || chunk * tiles < end; ++chunk) {
      const BlockRange& range = split.chunks[static_cast<std::size_t>(chunk)];
      if (chunk == first_chunk || !split.prefetches)
        own += bytes_per_block * static_cast<double>(range.end - range.begin) / from_level3;
      const std::int64_t of_chunk = std::min(end, (chunk + 1) * tiles) - std::max(begin, chunk * tiles);
      own += static_cast<double>(of_chunk) * item_cycles[static_cast<std::size_t>(chunk)];
    }
    slowest = std::max(slowest, own);
  }
  return slowest;
}

double bytes_per_block(const ChannelBlocks& blocks) {
  return static_cast<double>(blocks.weight_bytes) / static_cast<double>(blocks.blocks.size());
}

bool may_prefetch(const ConvSchedule& schedule, const ConvGeometry& g) {
  return schedule.chunks > 1 && pixel_tiles(g, schedule.tiles).tiles() > 1;
}

// As few as let a chunk stay in the cache.
std::int64_t fewest_chunks(const ConvGeometry& g, const ChannelBlocks& blocks, const ConvConditions& conditions) {
  constexpr std::int64_t kHalfL1 = 16 << 10;
  const auto count = static_cast<std::int64_t>(blocks.blocks.size());
  // Groups have a part of x each, so that chunks of them read nothing twice: where lines are too narrow to use a weight
  // often, all stays in L1.
  const bool is_narrow = g.groups > 1 && g.out_height > 1 && 2 * g.out_width <= conditions.max_pixels;
  const std::int64_t resident_bytes = is_narrow ? kHalfL1 : conditions.l2_bytes / 2;
  const std::int64_t together = std::clamp<std::int64_t>(resident_bytes * count / blocks.weight_bytes, 1, count);
  return ceil_div(count, together);
}

}  // namespace

std::vector<BlockRange> even_chunks(std::int64_t blocks, std::int64_t chunks) {
  std::vector<BlockRange> ranges;
  for (std::int64_t c = 0; c < chunks; ++c) {
    ranges.push_back(
        {static_cast<std::size_t>(blocks * c / chunks), static_cast<std::size_t>(blocks * (c + 1) / chunks)});
  }
  return ranges;
}

double tile_cycles(const ConvGeometry& g, const TileTarget& target, int pixels, int vectors,
                   const MachineSpeeds& speeds) {
  constexpr double kCallCycles = 30.0;
  const double accumulators = static_cast<double>(pixels) * vectors;
  const double per_dword =
      std::max(5.0, accumulators * cycles_per_step(target.step, speeds) * target.cycle_scale(speeds));
  return static_cast<double>(g.k_dwords()) * g.share_inside() * per_dword + accumulators * 3.0 + kCallCycles;
}

int tile_pixels(const TileTarget& target, const ChannelBlocks& blocks, bool has_table) {
  const int most = target.max_pixels(blocks.max_vectors);
  return has_table ? std::min(24, most) : most;
}

ConvSplit split_by(const ConvSchedule& schedule, const ConvGeometry& g, const ChannelBlocks& blocks) {
  return {pixel_tiles(g, schedule.tiles), even_chunks(static_cast<std::int64_t>(blocks.blocks.size()), schedule.chunks),
          schedule.prefetches};
}

double conv_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const ConvSchedule& schedule,
                   const ConvConditions& conditions) {
  const ConvSplit split = split_by(schedule, g, blocks);
  const std::vector<double> of_blocks = block_cycles(g, blocks, conditions, split.tiles.pixels);
  return slowest_thread(split, item_cycles(split, of_blocks), bytes_per_block(blocks), conditions);
}

ConvSchedule conv_schedule(const ConvGeometry& g, const ChannelBlocks& blocks, const ConvConditions& conditions) {
  constexpr double kGain = 0.97;    // more chunks and narrower tiles must pay
  constexpr double kEnough = 1.03;  // times an even share of the work: nothing better is looked for
  const auto count = static_cast<std::int64_t>(blocks.blocks.size());
  const std::int64_t fewest_tiles = ceil_div(g.out_width, conditions.max_pixels);
  ConvSchedule best;
  double least = HUGE_VAL, share = 0.0;
  for (std::int64_t tiles = fewest_tiles; tiles < std::min(fewest_tiles + conditions.threads, g.out_width + 1);
       ++tiles) {
    const std::vector<double> of_blocks = block_cycles(g, blocks, conditions, pixel_tiles(g, tiles).pixels);
    for (std::int64_t chunks = fewest_chunks(g, blocks, conditions); chunks <= count; ++chunks) {
      ConvSchedule schedule{tiles, chunks};
      schedule.prefetches = may_prefetch(schedule, g);
      const ConvSplit split = split_by(schedule, g, blocks);
      const std::vector<double> cycles = item_cycles(split, of_blocks);
      const double slowest = slowest_thread(split, cycles, bytes_per_block(blocks), conditions);
      if (share == 0.0)
        share = static_cast<double>(split.tiles.tiles()) * std::accumulate(cycles.begin(), cycles.end(), 0.0) /
                conditions.threads;
      if (slowest < kGain * least) least = slowest, best = schedule;
      if (least < kEnough * share) return best;
    }
  }
  return best;
}

std::vector<ConvSchedule> conv_schedules(const ConvGeometry& g, const ChannelBlocks& blocks,
                                         const ConvConditions& conditions) {
  constexpr std::int64_t kTried = 6, kMostChunks = 32;
  const auto count = static_cast<std::int64_t>(blocks.blocks.size());
  const std::int64_t fewest_tiles = ceil_div(g.out_width, conditions.max_pixels);
  std::vector<ConvSchedule> all;
  for (std::int64_t tiles = fewest_tiles; tiles < std::min(fewest_tiles + kTried, g.out_width + 1); ++tiles) {
    for (std::int64_t chunks = 1; chunks <= std::min(count, kMostChunks); ++chunks) {
      all.push_back({tiles, chunks});
      if (may_prefetch(all.back(), g)) all.push_back({tiles, chunks, true});
    }
  }
  return all;
}

std::vector<std::byte> ConvSchedule::encode() const { return encode_schedule({{tiles, chunks, prefetches ? 1 : 0}}); }

std::optional<ConvSchedule> decode_conv_schedule(std::span<const std::byte> bytes, const ConvGeometry& g,
                                                 const ChannelBlocks& blocks, int max_pixels) {
  const auto numbers = decode_schedule(bytes, std::size(kConvKnobs));
  if (!numbers || (*numbers)[2] > 1) return std::nullopt;
  const ConvSchedule schedule{(*numbers)[0], (*numbers)[1], (*numbers)[2] == 1};
  const bool fits = schedule.tiles >= ceil_div(g.out_width, max_pixels) && schedule.tiles <= g.out_width &&
                    schedule.chunks >= 1 && schedule.chunks <= static_cast<std::int64_t>(blocks.blocks.size());
  if (!fits || (schedule.prefetches && !may_prefetch(schedule, g))) return std::nullopt;
  return schedule;
}

}  // namespace octavo
