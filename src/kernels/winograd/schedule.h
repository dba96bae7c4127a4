// WinogradSchedule: how a Winograd convolution is cut up: what threads share, how many tiles are transformed and
// multiplied at a time, which weights stay in L1 meanwhile. Part of kernels/winograd/.
#ifndef OCTAVO_KERNELS_WINOGRAD_SCHEDULE_H_
#define OCTAVO_KERNELS_WINOGRAD_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/speeds.h"
#include "kernels/conv/geometry.h"
#include "kernels/winograd/geometry.h"

namespace octavo {

// Tiles transformed at a time: many, since all weights are read again for each chunk, but few enough for what is
// transformed to stay near.
inline constexpr std::int64_t kChunkTiles = 56;

inline constexpr std::string_view kWinogradKnobs[] = {"by_channels", "groups", "chunk", "slice", "prefetches"};

struct WinogradSchedule {
  bool by_channels = false;  // threads take blocks of output channels, and each transforms all of x; else tiles
  std::int64_t groups = 1;   // of tiles that are multiplied together, as even as can be
  std::int64_t chunk = 1;    // groups that are transformed at a time: all weights are read again for the next
  std::int64_t slice = 1;    // pairs of input channels whose weights stay in L1 while the groups of a chunk pass
  bool prefetches = true;    // the next position's weights while one's are used

  // As StepSpec::schedule.
  std::vector<std::byte> encode() const;
};

// Groups of tiles as one line of them.
PixelTiles tile_groups(const WinogradGeometry& geometry, std::int64_t groups);

// What the scratch of a thread holds, in bytes, each part in whole cache lines.
struct WinogradScratch {
  std::int64_t v_stride = 0, m_stride = 0;  // elements from a position to the next
  std::int64_t v_bytes = 0, m_bytes = 0, sums_bytes = 0, patch_bytes = 0;

  std::int64_t total() const { return v_bytes + m_bytes + sums_bytes + patch_bytes; }
};
// Input channels of a block may be cut into parts, whose sums are added up for all tiles of a chunk.
enum class WinogradParts { one, several };
WinogradScratch winograd_scratch(const WinogradGeometry& geometry, const WinogradSchedule& schedule,
                                 WinogradParts parts);

// The one by which tiles or channels are shared so that the slowest thread is done first; chunks and slices as large as
// stay near.
WinogradSchedule winograd_schedule(const WinogradGeometry& geometry, const WinogradTarget& target, int threads,
                                   const MachineSpeeds& speeds);
// All that are worth looking at.
std::vector<WinogradSchedule> winograd_schedules(const WinogradGeometry& geometry, const WinogradTarget& target,
                                                 int threads);
// What `encode` made; nothing where it is not legal for the shape.
std::optional<WinogradSchedule> decode_winograd_schedule(std::span<const std::byte> bytes,
                                                         const WinogradGeometry& geometry,
                                                         const WinogradTarget& target);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_SCHEDULE_H_
