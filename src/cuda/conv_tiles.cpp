// See conv_tiles.h. Part of cuda/.
#include "cuda/conv_tiles.h"

#include <algorithm>

#include "cuda/device/mma.h"

namespace octavo::cuda {
namespace {

constexpr std::int64_t kStep = 64;  // bytes of K

constexpr std::int64_t whole(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

std::int64_t stages_of(const ConvTileShape& tile) { return conv_stages(static_cast<int>(tile.rows)); }

// Bytes of x that are neighbours in memory, and aligned.
int copied_at_once(std::int64_t group_in) { return group_in % 16 == 0 ? 16 : group_in % 4 == 0 ? 4 : 1; }

}  // namespace

ConvSizes ConvSizes::of(const Window& window, std::int64_t groups, const Shape& x, const Shape& y,
                        const ConvTileShape& tile) {
  ConvSizes s{.pixels = y[0] * y[1] * y[2], .groups = groups, .group_in = x[3] / groups, .group_out = y[3] / groups};
  s.k = s.group_in * window.kernel[0] * window.kernel[1];
  s.padded_k = whole(s.k, kStep);
  s.padded_out = whole(s.group_out, tile.columns);
  return s;
}

std::array<std::int64_t, 3> conv_grid(const ConvSizes& s, const ConvTileShape& tile) {
  return {whole(s.pixels, tile.rows) / tile.rows, s.padded_out / tile.columns, s.groups};
}

std::string conv_size_refusal(const ConvSizes& s, const ConvTileShape& tile) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;
  if (s.k > kMostBytes / s.padded_out / s.groups) return "needs less than 2 GiB of weights";
  if (s.pixels >= std::int64_t{1} << 31) return "needs fewer than 2^31 pixels";
  return grid_refusal(conv_grid(s, tile));
}

Tensor pack_conv_weights(const Tensor& w, const ConvSizes& s) {
  Tensor packed(DType::s8, Shape{s.channels(), s.padded_k});
  for (std::int64_t oc = 0; oc < s.groups * s.group_out; ++oc)
    std::copy_n(w.as<std::int8_t>() + oc * s.k, s.k, packed.as<std::int8_t>() + s.place_of(oc) * s.padded_k);
  return packed;
}

std::string conv_kernel_suffix(const ConvSizes& s, const ConvTileShape& tile) {
  return "_" + std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "_" +
         std::to_string(copied_at_once(s.group_in));
}

void place_conv(LaunchMaker<ConvArgs>& maker, const ConvSizes& s, const ConvTileShape& tile) {
  ConvArgs& args = maker.arguments;
  args.pixels = s.pixels;
  args.group_in = static_cast<std::int32_t>(s.group_in), args.group_out = static_cast<std::int32_t>(s.group_out);
  args.padded_out = static_cast<std::int32_t>(s.padded_out), args.padded_k = static_cast<std::int32_t>(s.padded_k);
  maker.launch.grid = conv_grid(s, tile);
  maker.launch.threads = conv_threads(static_cast<int>(tile.rows));
  maker.launch.shared_bytes = static_cast<int>(stages_of(tile) * (tile.rows + tile.columns) * kStep);
}

double conv_ns(const CallView& call, const ConvSizes& s, const ConvTileShape& tile, const Machine& machine) {
  const std::array<std::int64_t, 3> grid = conv_grid(s, tile);
  // What is left of the share where x is copied by smaller pieces: by 1 byte as an H200 reached, by 4 as four times as
  // many copies are expected to; nobody has timed those.
  const double gathering = copied_at_once(s.group_in) == 1 ? 0.07 : copied_at_once(s.group_in) == 4 ? 0.2 : 1.0;
  const BlockWork work{.blocks = static_cast<double>(grid[0] * grid[1] * grid[2]),
                       .block_macs = static_cast<double>(tile.rows * tile.columns * s.padded_k),
                       .block_sums = static_cast<double>(tile.rows * tile.columns),
                       .share = tile.share * gathering,
                       .steps = static_cast<double>(s.padded_k / kStep) / (stages_of(tile) - 1)};
  return std::max(machine.speeds.barrier_ns + blocks_ns(work, machine), memory_ns(call, machine));
}

}  // namespace octavo::cuda
