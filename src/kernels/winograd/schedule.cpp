// Choosing how a Winograd convolution is cut up. Part of kernels/winograd/.
#include "kernels/winograd/schedule.h"

#include <algorithm>

#include "kernels/cache_line.h"
#include "kernels/schedule.h"
#include "kernels/winograd/winograd_step.h"

namespace octavo {
namespace {

// Of a position's weights, for as many vectors as a tile has at most: half of L1.
constexpr std::int64_t kSlicePairs = 64;
// Of a thread; chunks of few tiles may have more.
constexpr std::int64_t kMostScratch = std::int64_t{64} << 20;

// The most units, at most `most` but at least 1, by which `count` is cut into even shares.
std::int64_t balanced(std::int64_t count, std::int64_t most) {
  return ceil_div(count, ceil_div(count, std::max<std::int64_t>(1, most)));
}

std::int64_t most_tiles(const WinogradGeometry& g, const WinogradTarget& target) {
  return target.pairs.max_pixels(g.block_vectors);
}

bool winograd_is_legal(const WinogradSchedule& s, const WinogradGeometry& g, const WinogradTarget& target) {
  if (s.groups < ceil_div(g.tiles(), most_tiles(g, target)) || s.groups > g.tiles()) return false;
  if (s.chunk < 1 || s.chunk > s.groups || s.slice < 1 || s.slice > g.pairs) return false;
  if (s.by_channels && g.blocks() == 1) return false;
  return s.chunk * tile_groups(g, s.groups).pixels <= kChunkTiles ||
         winograd_scratch(g, s, WinogradParts::several).total() <= kMostScratch;
}

template <class T>
void add_once(std::vector<T>& list, T value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

// Groups of nearly as many tiles as registers hold, each also so many that threads have equally many.
std::vector<std::int64_t> tried_groups(const WinogradGeometry& g, const WinogradTarget& target, int threads) {
  constexpr std::int64_t kTried = 4;
  std::vector<std::int64_t> all;
  const std::int64_t most = most_tiles(g, target);
  for (std::int64_t tiles = most; tiles > std::max<std::int64_t>(0, most - kTried); --tiles) {
    const std::int64_t groups = ceil_div(g.tiles(), tiles);
    add_once(all, groups);
    add_once(all, std::min(g.tiles(), ceil_div(groups, threads) * threads));
  }
  return all;
}

std::vector<std::int64_t> tried_chunks(std::int64_t own_groups) {
  std::vector<std::int64_t> all;
  for (const std::int64_t count : {1, 2, 3, 4, 6, 8, 12, 16}) {
    if (count <= own_groups) add_once(all, ceil_div(own_groups, count));
  }
  return all;
}

std::vector<std::int64_t> tried_slices(const WinogradGeometry& g) {
  std::vector<std::int64_t> all;
  for (const std::int64_t pairs : {kSlicePairs, kSlicePairs / 2, kSlicePairs * 2, kSlicePairs * 4, g.pairs})
    add_once(all, std::min(g.pairs, pairs));
  return all;
}

}  // namespace

PixelTiles tile_groups(const WinogradGeometry& g, std::int64_t groups) {
  PixelTiles tiles{.lines = 1,
                   .line_pixels = g.tiles(),
                   .tiles_per_line = groups,
                   .pixels = static_cast<int>(ceil_div(g.tiles(), groups))};
  tiles.wide_tiles = g.tiles() - groups * (tiles.pixels - 1);
  return tiles;
}

WinogradScratch winograd_scratch(const WinogradGeometry& g, const WinogradSchedule& schedule, WinogradParts parts) {
  const std::int64_t lanes = std::int64_t{g.block_vectors} * g.lanes, pixels = tile_groups(g, schedule.groups).pixels,
                     chunk_tiles = schedule.chunk * pixels;
  WinogradScratch scratch;
  scratch.v_stride = odd_lines(chunk_tiles * g.padded_channels * 2) / 2;
  scratch.m_stride = odd_lines(chunk_tiles * lanes * 4) / 4;
  scratch.v_bytes = whole_lines(kWinogradPositions * scratch.v_stride * 2);
  scratch.m_bytes = whole_lines(kWinogradPositions * scratch.m_stride * 4);
  scratch.sums_bytes = whole_lines(16 * (parts == WinogradParts::several ? chunk_tiles : pixels) * lanes * 4);
  scratch.patch_bytes = whole_lines(kWinogradPositions * g.channels + 2 * g.lanes);
  return scratch;
}

WinogradSchedule winograd_schedule(const WinogradGeometry& g, const WinogradTarget& target, int threads,
                                   const MachineSpeeds& speeds) {
  const WinogradCycles cycles = winograd_cycles(g, target, speeds);
  const auto share = [&](std::int64_t units) {
    return static_cast<double>(ceil_div(units, threads)) / static_cast<double>(units);
  };
  const std::int64_t fewest = ceil_div(g.tiles(), most_tiles(g, target));
  std::int64_t groups = fewest;
  if (groups < 8 * threads) groups = std::min(g.tiles(), ceil_div(groups, threads) * threads);
  const double over_tiles = share(groups) * (cycles.products + cycles.input + cycles.outputs);
  const double over_channels = share(g.blocks()) * (cycles.products + cycles.outputs) + cycles.input;
  WinogradSchedule schedule{.by_channels = over_tiles > over_channels, .slice = std::min(g.pairs, kSlicePairs)};
  schedule.groups = schedule.by_channels ? fewest : groups;
  const std::int64_t own_groups = schedule.by_channels ? fewest : ceil_div(groups, threads);
  schedule.chunk = balanced(own_groups, kChunkTiles / tile_groups(g, schedule.groups).pixels);
  return schedule;
}

std::vector<WinogradSchedule> winograd_schedules(const WinogradGeometry& g, const WinogradTarget& target, int threads) {
  std::vector<WinogradSchedule> all;
  const std::vector<std::int64_t> slices = tried_slices(g);
  for (const bool by_channels : {false, true}) {
    for (const std::int64_t groups : tried_groups(g, target, threads)) {
      for (const std::int64_t chunk : tried_chunks(by_channels ? groups : ceil_div(groups, threads))) {
        for (const std::int64_t slice : slices) {
          for (const bool prefetches : {true, false}) {
            const WinogradSchedule tried{by_channels, groups, chunk, slice, prefetches};
            if (winograd_is_legal(tried, g, target)) all.push_back(tried);
          }
        }
      }
    }
  }
  return all;
}

std::vector<std::byte> WinogradSchedule::encode() const {
  return encode_schedule({{by_channels ? 1 : 0, groups, chunk, slice, prefetches ? 1 : 0}});
}

std::optional<WinogradSchedule> decode_winograd_schedule(std::span<const std::byte> bytes, const WinogradGeometry& g,
                                                         const WinogradTarget& target) {
  const auto numbers = decode_schedule(bytes, std::size(kWinogradKnobs));
  if (!numbers || (*numbers)[0] > 1 || (*numbers)[4] > 1) return std::nullopt;
  const WinogradSchedule schedule{(*numbers)[0] == 1, (*numbers)[1], (*numbers)[2], (*numbers)[3], (*numbers)[4] == 1};
  return winograd_is_legal(schedule, g, target) ? std::optional(schedule) : std::nullopt;
}

}  // namespace octavo
