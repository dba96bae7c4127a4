// Tiles of convolutions whose weights have offsets, or whose scales a run finds.
#include "support/cuda_emulated_tile.h"

namespace octavo::cuda {
namespace {

constexpr Emulated kOffsetTiles[] = {
    tile<32, 32, 16, true>("conv_32x32_16_offset"),
    tile<32, 32, 1, true>("conv_32x32_1_offset"),
    tile<32, 32, 4, true>("conv_32x32_4_offset"),
    tile<64, 64, 16, true>("conv_64x64_16_offset"),
    tile<64, 64, 1, true>("conv_64x64_1_offset"),
    tile<64, 64, 4, true>("conv_64x64_4_offset"),
    tile<128, 64, 1, false, XScale::in_run>("conv_run_128x64_1"),
    tile<128, 64, 16, false, XScale::in_run>("conv_run_128x64_16"),
    tile<128, 64, 4, false, XScale::in_run>("conv_run_128x64_4"),
    tile<32, 32, 1, true, XScale::in_run>("conv_run_32x32_1"),
    tile<32, 32, 16, true, XScale::in_run>("conv_run_32x32_16"),
    tile<32, 32, 4, true, XScale::in_run>("conv_run_32x32_4"),
    tile<64, 64, 1, true, XScale::in_run>("conv_run_64x64_1"),
    tile<64, 64, 16, true, XScale::in_run>("conv_run_64x64_16"),
    tile<64, 64, 4, true, XScale::in_run>("conv_run_64x64_4"),
};

}  // namespace

std::span<const Emulated> emulated_tiles_of_offsets() { return kOffsetTiles; }

}  // namespace octavo::cuda
