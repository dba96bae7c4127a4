// Tiles of convolutions on tensor cores: sizes, weights as they read them, and what they cost; for scales that are
// known and for those of a run. Part of cuda/.
#ifndef OCTAVO_CUDA_CONV_TILES_H_
#define OCTAVO_CUDA_CONV_TILES_H_

#include <array>
#include <string>

#include "cuda/arguments.h"
#include "cuda/cost.h"
#include "cuda/launch.h"
#include "ops/window.h"

namespace octavo::cuda {

// A ConvTile of cuda/device/conv.h.
struct ConvTileShape {
  std::int64_t rows, columns;
  double share;  // of the tensor cores' peak that its loop over K reaches, as fitted to what an H200 took
};
inline constexpr ConvTileShape kTile128x128{128, 128, 0.74}, kTile128x64{128, 64, 0.51}, kTile64x64{64, 64, 0.41},
    kTile32x32{32, 32, 0.15};

// Others have no registers left for sums of rows.
constexpr bool takes_offset(const ConvTileShape& tile) { return tile.rows <= 64; }

struct ConvSizes {
  std::int64_t pixels, groups, group_in, group_out, k, padded_k, padded_out;

  // Of NHWC images.
  static ConvSizes of(const Window& window, std::int64_t groups, const Shape& x, const Shape& y,
                      const ConvTileShape& tile);
  std::int64_t channels() const { return groups * padded_out; }
  // Where a channel lies among those of all groups.
  std::int64_t place_of(std::int64_t channel) const { return channel / group_out * padded_out + channel % group_out; }
};

std::array<std::int64_t, 3> conv_grid(const ConvSizes& sizes, const ConvTileShape& tile);
std::string conv_size_refusal(const ConvSizes& sizes, const ConvTileShape& tile);
// Rows of K, zeros behind them, rows of zeros behind those of a group.
Tensor pack_conv_weights(const Tensor& w, const ConvSizes& sizes);
// The name of a kernel, behind "conv" and what else distinguishes it: its tile, and how many bytes of x it copies.
std::string conv_kernel_suffix(const ConvSizes& sizes, const ConvTileShape& tile);
// Sizes, the grid, threads and shared memory.
void place_conv(LaunchMaker<ConvArgs>& maker, const ConvSizes& sizes, const ConvTileShape& tile);
double conv_ns(const CallView& call, const ConvSizes& sizes, const ConvTileShape& tile, const Machine& machine);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_CONV_TILES_H_
