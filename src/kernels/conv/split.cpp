// Searching the split of a direct convolution. Part of kernels/conv/.
#include "kernels/conv/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace octavo {
namespace {

// Of one vector times one dword of x: at best two vpdpbusd a cycle; the others as measured.
double cycles_per_step(MacStep step) {
  switch (step) {
    case MacStep::avx2_words: return 1.6;
    case MacStep::avx2_bytes: return 2.1;
    default: return 0.5;
  }
}

// Cycles of a tile of so many pixels for each block.
std::vector<double> block_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const TileTarget& target,
                                 int pixels) {
  std::vector<double> cycles;
  for (std::size_t b = 0; b < blocks.blocks.size(); ++b) {
    const bool is_like_last = b > 0 && blocks.blocks[b].vectors == blocks.blocks[b - 1].vectors;
    cycles.push_back(is_like_last ? cycles.back() : tile_cycles(g, target, pixels, blocks.blocks[b].vectors));
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
// meanwhile.
double slowest_thread(const ConvSplit& split, const std::vector<double>& item_cycles, double bytes_per_block,
                      int threads) {
  constexpr double kFromLevel3 = 10.0;  // bytes a cycle
  const std::int64_t tiles = split.tiles.tiles(), items = tiles * static_cast<std::int64_t>(split.chunks.size());
  double slowest = 0.0;
  for (int thread = 0; thread < threads; ++thread) {
    const std::int64_t begin = items * thread / threads, end = items * (thread + 1) / threads;
    const BlockRange& first = split.chunks[static_cast<std::size_t>(std::min(begin, items - 1) / tiles)];
    double own = bytes_per_block * static_cast<double>(first.end - first.begin) / kFromLevel3;
    for (std::int64_t chunk = begin / tiles; chunk * tiles < end; ++chunk) {
      const std::int64_t of_chunk = std::min(end, (chunk + 1) * tiles) - std::max(begin, chunk * tiles);
      own += static_cast<double>(of_chunk) * item_cycles[static_cast<std::size_t>(chunk)];
    }
    slowest = std::max(slowest, own);
  }
  return slowest;
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

double tile_cycles(const ConvGeometry& g, const TileTarget& target, int pixels, int vectors) {
  constexpr double kCallCycles = 30.0;
  const double accumulators = static_cast<double>(pixels) * vectors;
  const double per_dword = std::max(5.0, accumulators * cycles_per_step(target.step));
  return static_cast<double>(g.k_dwords()) * g.share_inside() * per_dword + accumulators * 3.0 + kCallCycles;
}

ConvSplit split_conv(const ConvGeometry& g, const ChannelBlocks& blocks, const TileTarget& target, int max_pixels,
                     int threads, std::int64_t l2_bytes) {
  constexpr double kGain = 0.97;  // more chunks and narrower tiles must pay
  constexpr std::int64_t kHalfL1 = 16 << 10;
  constexpr double kEnough = 1.03;  // times an even share of the work: nothing better is looked for
  const auto count = static_cast<std::int64_t>(blocks.blocks.size());
  const double bytes_per_block = static_cast<double>(blocks.weight_bytes) / static_cast<double>(count);
  // Groups have a part of x each, so that chunks of them read nothing twice: where lines are too narrow to use a weight
  // often, all stays in L1.
  const bool is_narrow = g.groups > 1 && g.out_height > 1 && 2 * g.out_width <= max_pixels;
  const std::int64_t resident_bytes = is_narrow ? kHalfL1 : l2_bytes / 2;
  const std::int64_t together = std::clamp<std::int64_t>(resident_bytes * count / blocks.weight_bytes, 1, count);
  const std::int64_t fewest_chunks = ceil_div(count, together), fewest_tiles = ceil_div(g.out_width, max_pixels);
  ConvSplit best;
  double least = HUGE_VAL, share = 0.0;
  for (std::int64_t tiles = fewest_tiles; tiles < std::min(fewest_tiles + threads, g.out_width + 1); ++tiles) {
    const PixelTiles pixels = pixel_tiles(g, tiles);
    const std::vector<double> of_blocks = block_cycles(g, blocks, target, pixels.pixels);
    for (std::int64_t chunks = fewest_chunks; chunks <= count; ++chunks) {
      ConvSplit split{pixels, even_chunks(count, chunks)};
      const std::vector<double> cycles = item_cycles(split, of_blocks);
      const double slowest = slowest_thread(split, cycles, bytes_per_block, threads);
      if (share == 0.0)
        share = static_cast<double>(split.tiles.tiles()) * std::accumulate(cycles.begin(), cycles.end(), 0.0) / threads;
      if (slowest < kGain * least) least = slowest, best = std::move(split);
      if (least < kEnough * share) return best;
    }
  }
  return best;
}

}  // namespace octavo
