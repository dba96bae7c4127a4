// DepthwiseSchedule: how a depthwise convolution in strips is cut up. Part of kernels/depthwise/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_SCHEDULE_H_
#define OCTAVO_KERNELS_DEPTHWISE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/depthwise/shape.h"

namespace octavo {

inline constexpr std::string_view kDepthwiseKnobs[] = {"columns", "rows", "by_channels", "direct"};

struct DepthwiseSchedule {
  std::int64_t columns = 4;  // of output per strip, a multiple of 4
  std::int64_t rows = 1;     // of output per strip
  // Threads take blocks of channels, each all rows of them; else rows, each all channels of them.
  bool by_channels = false;
  bool direct = false;  // input is interleaved in registers, without a strip's memory, where a block can do that

  // As StepSpec::schedule.
  std::vector<std::byte> encode() const;
};

// What decides about schedules.
struct DepthwiseStrips {
  DepthwiseShape shape;
  std::int64_t groups = 1;     // of four rows of input, under a strip
  std::int64_t most_rows = 1;  // of output that a strip serves: those that weights are packed for
  std::int64_t units = 1;      // blocks of channels that threads may share
  bool has_wide_block = true;  // as wide as there are: only these can do without a strip
  int least_direct_stride = 2, most_direct_rows = 4;
};

// Bytes of a strip so wide, with what is read beyond it.
std::int64_t strip_bytes(const DepthwiseStrips& strips, std::int64_t columns);
// Windows of three neighbouring columns at stride 2 (or 1), a row at a time: those that can do without a strip.
bool may_be_direct(const DepthwiseStrips& strips, std::int64_t rows);

// Without a strip where that is possible; else as many rows as weights are packed for, strips that stay in L1.
DepthwiseSchedule depthwise_schedule(const DepthwiseStrips& strips);
// All that are worth looking at.
std::vector<DepthwiseSchedule> depthwise_schedules(const DepthwiseStrips& strips);
// What `encode` made; nothing where it is not legal for the shape.
std::optional<DepthwiseSchedule> decode_depthwise_schedule(std::span<const std::byte> bytes,
                                                           const DepthwiseStrips& strips);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_SCHEDULE_H_
