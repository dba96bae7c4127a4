// Tiles of convolutions for the emulator. Part of the tests' support.
#ifndef OCTAVO_TESTS_SUPPORT_CUDA_EMULATED_TILE_H_
#define OCTAVO_TESTS_SUPPORT_CUDA_EMULATED_TILE_H_

#include "cuda/device/conv.h"
#include "support/cuda_emulated.h"

namespace octavo::cuda {

// Every second block as devices with wgmma do it, the others as those without.
template <int rows, int columns, int copy, bool has_offset, XScale x_scale>
void conv_tile(HostBlock& block, const ConvArgs& arguments) {
  constexpr bool kMayGroup = rows % kGroupRows == 0 && !has_offset;
  constexpr Multiplier kGroups = kMayGroup ? Multiplier::group : Multiplier::warp;
  if ((block.x() + block.y()) % 2 == 0)
    conv<ConvTile<rows, columns, copy, kGroups, has_offset, x_scale>>(block, arguments);
  else conv<ConvTile<rows, columns, copy, Multiplier::warp, has_offset, x_scale>>(block, arguments);
}

template <int rows, int columns, int copy, bool has_offset = false, XScale x_scale = XScale::known>
constexpr Emulated tile(std::string_view name) {
  return emulated<ConvArgs, conv_tile<rows, columns, copy, has_offset, x_scale>>(name);
}

}  // namespace octavo::cuda

#endif  // OCTAVO_TESTS_SUPPORT_CUDA_EMULATED_TILE_H_
