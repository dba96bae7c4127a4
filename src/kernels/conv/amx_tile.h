// The AMX tile: up to 64 output pixels, or up to 80 lanes, of s32 sums, and how the eight tile registers are shared out
// for it. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_AMX_TILE_H_
#define OCTAVO_KERNELS_CONV_AMX_TILE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "kernels/conv/geometry.h"
#include "kernels/conv/tile.h"
#include "kernels/jit/code.h"

namespace octavo {

// Of all code of a step, so that the registers are configured once in a run. A sum is a register of `rows` pixels times
// 16 channels:
//   sum(m, v) = tmm[m * vectors + v], then registers of x (rows x dwords), then registers of w (dwords x 16 channels).
// Pixels beyond those of an output tile are read and multiplied too, and left unused.
struct AmxLayout {
  static constexpr int kRegisters = 8, kMostRows = 16;

  int row_groups = 1;  // m
  int rows = 1;
  int vectors = 1;  // of the widest block
  int dwords = 1;   // of K in one multiply

  static AmxLayout of(const PixelTiles& tiles, const ChannelBlocks& blocks, const ConvGeometry& geometry);

  int pixels() const { return row_groups * rows; }
  int sums() const { return row_groups * vectors; }
  // Every group of rows has its own where there is room.
  int x_registers() const { return std::min(row_groups, kRegisters - 1 - sums()); }
  int w_registers() const { return std::min(vectors, kRegisters - sums() - x_registers()); }
  auto operator<=>(const AmxLayout&) const = default;
};

// What ldtilecfg reads, of palette 1.
struct alignas(64) AmxPalette {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};
  std::array<std::uint8_t, 16> rows{};

  static AmxPalette of(const AmxLayout& layout);
};
static_assert(sizeof(AmxPalette) == 64);

// Everything that the code of one block of channels depends on.
struct AmxConfig {
  AmxLayout layout;
  int vectors = 1;               // of this block
  std::int32_t pixel_bytes = 0;  // of x, from one output pixel to the next
  std::int32_t taps = 1, tap_bytes = 0, run_steps = 1;

  auto operator<=>(const AmxConfig&) const = default;
};

// y[pixel][vector][lane] = the sums, without the bias: reads rows, row_count, x_offset and weights of its arguments.
// Needs the layout's palette.
Result<std::shared_ptr<const Code>> amx_code(const AmxConfig& config);

// The tile registers of a thread: configured from a palette, and given back, without which every switch of threads
// would save 8 KiB.
class AmxRegisters {
 public:
  static Result<AmxRegisters> create();
  void configure(const AmxPalette& palette) const noexcept { configure_->entry<void(const AmxPalette*)>()(&palette); }
  void release() const noexcept { release_->entry<void()>()(); }

 private:
  std::shared_ptr<const Code> configure_, release_;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_AMX_TILE_H_
