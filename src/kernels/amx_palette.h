// How AMX's tile registers are configured. Part of kernels/.
#ifndef OCTAVO_KERNELS_AMX_PALETTE_H_
#define OCTAVO_KERNELS_AMX_PALETTE_H_

#include <cstdint>

namespace octavo {

// What ldtilecfg reads, of palette 1: rows (16 at most) and bytes of a row (64 at most) of each register.
struct alignas(64) AmxPalette {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(AmxPalette) == 64);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_AMX_PALETTE_H_
