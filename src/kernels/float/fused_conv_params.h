// How fused_conv is taken apart: sizes, panels of output channels, schedules. Internal to kernels/float/.
#ifndef OCTAVO_KERNELS_FLOAT_FUSED_CONV_PARAMS_H_
#define OCTAVO_KERNELS_FLOAT_FUSED_CONV_PARAMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/call.h"
#include "kernels/eltwise/rows.h"
#include "kernels/float/sums.h"
#include "kernels/image_sizes.h"
#include "ops/fused_conv/fused_conv.h"

namespace octavo::fused_conv {

enum Input : std::size_t { kX = 0, kW = 1, kBias = 2, kResidual = 3 };

inline constexpr std::size_t kAxes = 2;  // height and width

inline constexpr std::string_view kKnobs[] = {"rows", "tiles", "by_panels"};

// `rows` positions of a tile, `tiles` of a block: their pointers are listed together, and the weights of a panel are
// read once for all of them. Items lie block by block, or panel by panel.
struct Schedule {
  std::int64_t rows = 1, tiles = 1;
  bool by_panels = false;

  // As StepSpec::schedule.
  std::vector<std::byte> encode() const;
};

struct Params {
  ImageSizes x, y;
  std::int64_t groups = 1, lanes = 1, most_rows = 1;  // lanes of a vector, rows of a tile at most
  Schedule schedule;
  std::array<std::int64_t, kAxes> kernel{1, 1}, stride{1, 1}, dilation{1, 1}, pad{0, 0};
  std::vector<std::int64_t> offsets;  // by tap, from the one where a window begins
  float lowest = -std::numeric_limits<float>::infinity(), highest = std::numeric_limits<float>::infinity();
  UnaryLine activation = nullptr;  // null: none but that clamp
  UnaryNumbers numbers;
  ResidualPlace residual = ResidualPlace::none;
  bool has_bias = false;
  const float* weights = nullptr;  // packed; null where they are computed
  const float* bias = nullptr;     // likewise
  void (*chains)(const ChainTile&) = nullptr;
  void (*channel_chains)(const ChannelChains&) = nullptr;

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t depth() const { return x.channels / groups; }
  std::int64_t links() const { return taps() * depth(); }
  std::int64_t out_per_group() const { return y.channels / groups; }
  std::int64_t positions() const { return y.batch * y.height * y.width; }
  std::int64_t panel_width() const { return kChainVectors * lanes; }
  std::int64_t panels() const { return (out_per_group() + panel_width() - 1) / panel_width(); }
  std::int64_t units() const { return groups * panels(); }
  // Of a group, with what fills its last panel.
  std::int64_t columns() const { return (panels() - 1) * panel_width() + last_vectors() * lanes; }
  std::int64_t last_vectors() const {
    const std::int64_t rest = out_per_group() - (panels() - 1) * panel_width();
    return (rest + lanes - 1) / lanes;
  }
  // Tiles of a block at most.
  std::int64_t most_tiles(std::int64_t rows) const {
    constexpr std::int64_t kPointers = 8192;
    return std::max<std::int64_t>(1, kPointers / (taps() * rows));
  }
  std::int64_t block() const { return schedule.tiles * schedule.rows; }
  std::int64_t blocks() const { return (positions() + block() - 1) / block(); }
};

// A panel of the output channels of a group.
struct Panel {
  std::int64_t group, first, width;  // first: channel of the group
  int vectors;
  const float* weights = nullptr;
  const float* bias = nullptr;
};

Panel panel_at(const Params& p, std::int64_t unit);
// Where a panel begins in the packed bias; its weights begin so many times the links of a chain further in theirs.
std::int64_t column_of(const Params& p, const Panel& panel);
Panel packed_panel_at(const Params& p, std::int64_t unit);

// One channel in and out of each group.
bool is_depthwise(const Params& p);

// All but what was packed, with the schedule that is chosen; the second also with the activation.
Params params_of(const CallView& call, const SumFunctions& sums);
Params params_of(const CallView& call, const SumFunctions& sums, const EltwiseFunctions& eltwise);

// How many elements the packed weights have, and the packed bias.
struct Packed {
  std::int64_t weights, bias;
  static Packed of(const Params& p);
};

// Of those with several channels a group: all that are worth looking at, and what `encode` made, or nothing where it is
// not legal for the shape.
std::vector<Schedule> schedules_of(const Params& p);
std::optional<Schedule> decode(std::span<const std::byte> bytes, const Params& p);
// Of the thread that takes longest, where all of it takes one thread so many nanoseconds.
double schedule_cost(const Params& p, const Schedule& schedule, double all_ns, int threads);

}  // namespace octavo::fused_conv

#endif  // OCTAVO_KERNELS_FLOAT_FUSED_CONV_PARAMS_H_
