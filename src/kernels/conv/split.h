// How a direct convolution is cut into items: tiles of pixels by chunks of channel blocks. Internal to kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_SPLIT_H_
#define OCTAVO_KERNELS_CONV_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

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
};

// The split whose slowest thread is done first, of those whose chunks stay in half of L2 (`l2_bytes`), where groups
// have narrow lines of L1, while all tiles pass.
ConvSplit split_conv(const ConvGeometry& geometry, const ChannelBlocks& blocks, const TileTarget& target,
                     int max_pixels, int threads, std::int64_t l2_bytes);

// Of one tile, all of K; as measured on Cascade Lake.
double tile_cycles(const ConvGeometry& geometry, const TileTarget& target, int pixels, int vectors);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_SPLIT_H_
