// How a direct convolution is cut into items: tiles of pixels by chunks of channel blocks. Internal to kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_SPLIT_H_
#define OCTAVO_KERNELS_CONV_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/speeds.h"
#include "kernels/conv/geometry.h"

namespace octavo {

struct BlockRange {
  std::size_t begin = 0, end = 0;
};
// Blocks 0 to `blocks`, as evenly as can be.
std::vector<BlockRange> even_chunks(std::int64_t blocks, std::int64_t chunks);

// An item is one tile for one chunk; items are counted chunk by chunk and shared out evenly by their number.
struct ConvSplit {
  PixelTiles tiles;
  std::vector<BlockRange> chunks;
  bool prefetches = false;  // the next chunk's weights while one is used
};

inline constexpr std::string_view kConvKnobs[] = {"tiles", "chunks", "prefetches"};

// A split by its numbers: tiles of a line of output, chunks in all.
struct ConvSchedule {
  std::int64_t tiles = 1, chunks = 1;
  bool prefetches = false;

  // As StepSpec::schedule.
  std::vector<std::byte> encode() const;
};

// What decides about a split beside the shape.
struct ConvConditions {
  const TileTarget& target;
  int max_pixels = 1;  // of a tile
  int threads = 1;
  std::int64_t l2_bytes = 0;
  MachineSpeeds speeds;
};

// Pixels of a tile at most: a table needs eight registers beside the packed pixels.
int tile_pixels(const TileTarget& target, const ChannelBlocks& blocks, bool has_table);
// The one whose slowest thread is done first, of those whose chunks stay in half of L2, where groups have narrow lines
// of L1, while all tiles pass.
ConvSchedule conv_schedule(const ConvGeometry& geometry, const ChannelBlocks& blocks, const ConvConditions& conditions);
// All that are worth looking at.
std::vector<ConvSchedule> conv_schedules(const ConvGeometry& geometry, const ChannelBlocks& blocks,
                                         const ConvConditions& conditions);
ConvSplit split_by(const ConvSchedule& schedule, const ConvGeometry& geometry, const ChannelBlocks& blocks);
// What `encode` made; nothing where it is not legal for the shape.
std::optional<ConvSchedule> decode_conv_schedule(std::span<const std::byte> bytes, const ConvGeometry& geometry,
                                                 const ChannelBlocks& blocks, int max_pixels);
// Of the thread that takes longest.
double conv_cycles(const ConvGeometry& geometry, const ChannelBlocks& blocks, const ConvSchedule& schedule,
                   const ConvConditions& conditions);

// Of one tile, all of K.
double tile_cycles(const ConvGeometry& geometry, const TileTarget& target, int pixels, int vectors,
                   const MachineSpeeds& speeds);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_SPLIT_H_
