// The code of an AMX block: up to four tile registers of s32 sums over all of K, where they stay until the next block
// stores and finishes them. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_AMX_TILE_H_
#define OCTAVO_KERNELS_CONV_AMX_TILE_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "kernels/amx_palette.h"
#include "kernels/conv/tile.h"
#include "kernels/jit/code.h"

namespace octavo {

// How the eight tile registers are shared out; of all code of a step, so that they are configured once in a run.
//   sum(u, v) = tmm[u * vectors + v], rows x 16 channels, then registers of x (rows x dwords), then those of w (dwords
//   x 16 channels)
// A unit is what one register of x holds: `rows` pixels. A multiply takes as many cycles as it has rows (eight at
// least), whatever its other sizes: measured on Granite Rapids.
struct AmxLayout {
  static constexpr int kRegisters = 8, kMostRows = 16, kMostUnits = 4;

  int units = 1;
  int rows = 1;
  int vectors = 1;  // of the widest block
  int dwords = 1;   // of K in one multiply

  int sums() const { return units * vectors; }
  // Each unit has its own, but for four units of one vector.
  int x_registers() const { return std::min(units, kRegisters - 1 - sums()); }
  int w_registers() const { return std::min(vectors, kRegisters - sums() - x_registers()); }
  int sum(int u, int v) const { return u * vectors + v; }
  // Of AmxArgs::sums: where a register goes, and a place for one that nobody reads.
  int place(int u, int v) const { return (u * rows * vectors + v) * 64; }
  int spare() const { return sums() * rows * 64; }
  std::size_t sums_bytes() const { return static_cast<std::size_t>(spare() + kMostRows * 64); }
  auto operator<=>(const AmxLayout&) const = default;
};

AmxPalette palette_of(const AmxLayout& layout);

// Pixels of sums that wait for their epilogue: `code` is a tile of TileKind::sums.
struct AmxFinish {
  TileArgs args;
  TileFunction* code = nullptr;
};

struct AmxArgs {
  std::array<const std::uint8_t*, AmxLayout::kMostUnits> x;  // the first pixel of each unit, at the first row of K
  const std::byte* weights;
  std::byte* sums;      // of the block before: [unit][row][vector of the layout][lane], and a spare register
  AmxFinish* finishes;  // for those sums: as many as the configuration says
  // Fetched into L2 from here on, kLinesAhead lines in each step, which then moves it by `ahead_bytes`: 0 where there
  // is nothing to fetch.
  const std::byte* ahead;
  std::int64_t ahead_bytes;
  static constexpr std::int64_t kLinesAhead = 4, kLineBytes = 64;
};
using AmxFunction = void(AmxArgs*);

// Everything that the code of a block depends on.
struct AmxConfig {
  AmxLayout layout;
  int units = 1, vectors = 1;    // of this block
  std::int64_t pixel_bytes = 0;  // of x, from one row of a unit to the next
  std::int64_t line_bytes = 0;   // of x, from one row of K to the next
  std::int64_t lines = 1, taps = 1, tap_bytes = 0, run_steps = 1;
  std::int64_t dword_bytes = 0, vector_bytes = 0;  // of w, from one dword of K and one vector to the next
  bool streams_w = false;                          // it leaves x in L1 alone
  std::int64_t finishes = 0;

  std::int64_t steps() const { return lines * taps * run_steps; }
  auto operator<=>(const AmxConfig&) const = default;
};

// Needs the layout's palette. What the registers hold before the first block is stored, too.
Result<std::shared_ptr<const Code>> amx_code(const AmxConfig& config);

// The tile registers of a thread: configured from a palette, and given back, without which every switch of threads
// would save 8 KiB.
class AmxRegisters {
 public:
  static Result<AmxRegisters> create(const AmxLayout& layout);
  void configure() const noexcept { configure_->entry<void(const AmxPalette*)>()(&palette_); }
  // The sums of the last block, as AmxArgs::sums.
  void store(std::byte* sums) const noexcept { store_->entry<void(std::byte*)>()(sums); }
  void release() const noexcept { release_->entry<void()>()(); }
  // Where there is less to finish than a configuration says.
  TileFunction* nothing() const noexcept { return nothing_->entry<TileFunction>(); }

 private:
  AmxPalette palette_;
  std::shared_ptr<const Code> configure_, store_, release_, nothing_;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_AMX_TILE_H_
