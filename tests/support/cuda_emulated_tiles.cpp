// Tiles of convolutions whose weights have no offset.
#include "support/cuda_emulated_tile.h"

namespace octavo::cuda {
namespace {

constexpr Emulated kTiles[] = {
    tile<128, 128, 1>("conv_128x128_1"), tile<128, 128, 16>("conv_128x128_16"), tile<128, 128, 4>("conv_128x128_4"),
    tile<128, 64, 1>("conv_128x64_1"),   tile<128, 64, 16>("conv_128x64_16"),   tile<128, 64, 4>("conv_128x64_4"),
    tile<32, 32, 1>("conv_32x32_1"),     tile<32, 32, 16>("conv_32x32_16"),     tile<32, 32, 4>("conv_32x32_4"),
    tile<64, 64, 1>("conv_64x64_1"),     tile<64, 64, 16>("conv_64x64_16"),     tile<64, 64, 4>("conv_64x64_4"),
};

}  // namespace

std::span<const Emulated> emulated_tiles() { return kTiles; }

}  // namespace octavo::cuda
