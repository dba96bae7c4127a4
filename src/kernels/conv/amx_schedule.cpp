// Choosing a schedule by what its parts cost. Part of kernels/conv/.
#include "kernels/conv/amx_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "base/tensor.h"
#include "kernels/conv/amx_tile.h"
#include "kernels/schedule.h"

namespace octavo {
namespace {

// Cycles, fitted to 25,000 runs of layers of seven networks on Granite Rapids (bench/schedule_bench).
constexpr double kMultiply = 11.2, kMultiplyRow = 0.4;            // of 64 bytes of K, and each row of it
constexpr double kLoad = 8.0;                                     // of a register from L1
constexpr double kFromL2 = 0.005, kStreamed = 0.001;              // a byte of w that is not in L1, or passes it by
constexpr double kInVain = 0.02;                                  // a byte of w that passes by L1 though it is there
constexpr double kAgain = 0.02;                                   // a byte of x that w drove out of L1
constexpr double kBeyondL2 = 0.056;                               // a byte of w, once
constexpr double kPixel = 2.5, kVector = 2.6, kPiece = 5.0;       // finishing sums
constexpr double kAmxBlock = 55.0, kItem = 65.0, kCopied = 0.04;  // a call; new pixels; a byte of x that is copied
constexpr double kOneUnit = 30.0;       // a step that waits for one register of x, which in a network is not in L1
constexpr double kElsewhere = 0.06;     // a byte of x or y whose pixels threads share
constexpr double kAmxNotHidden = 0.42;  // of the lesser of two that overlap
constexpr std::int64_t kL1 = 48 << 10;

// One way to multiply, and what it reads again and again.
struct Costed {
  const ConvGeometry& g;
  const AmxSchedule& schedule;
  std::int64_t x_bytes = 0, chunk_bytes = 0;

  double block(int vectors, double pixels) const {
    const double units = schedule.at_once, steps = static_cast<double>(g.kernel_h * g.taps * g.run_steps());
    const double multiply = units * vectors * (kMultiply + kMultiplyRow * schedule.units.rows);
    const double step = std::max(multiply, kLoad * (units + vectors)) + (schedule.at_once == 1 ? kOneUnit : 0.0);
    const double work = steps * step + misses(vectors * 64 * g.k_dwords());
    const double finish = pixels * (kPixel + kVector * vectors) + kPiece * std::ceil(pixels / 8.0);
    return std::max(work, finish) + kAmxNotHidden * std::min(work, finish) + kAmxBlock;
  }

  double misses(std::int64_t w_bytes) const {
    const auto w = static_cast<double>(w_bytes);
    double cycles = 0.0;
    if (x_bytes + chunk_bytes > kL1) cycles += w * (schedule.streams_w ? kStreamed : kFromL2);
    else if (schedule.streams_w) cycles += w * kInVain;
    const bool keeps_x = x_bytes + w_bytes <= kL1 || (schedule.streams_w && x_bytes < kL1);
    return keeps_x ? cycles : cycles + kAgain * static_cast<double>(x_bytes);
  }
};

// Rows of a register that holds so many lines, or a part of one.
int amx_rows_of(const ConvGeometry& g, std::int64_t lines, std::int64_t per_line) {
  const std::int64_t rows = lines > 1 ? (lines - 1) * amx_columns(g) + g.out_width : ceil_div(g.out_width, per_line);
  return static_cast<int>(std::min<std::int64_t>(rows, AmxLayout::kMostRows + 1));
}

// Units that are worth looking at: lines cut so that registers are full or nearly, or several lines in one register.
std::vector<AmxUnits> units_of(const ConvGeometry& g, bool copies) {
  constexpr std::int64_t kTried = 4;
  std::vector<AmxUnits> all;
  const std::int64_t fewest = ceil_div(g.out_width, AmxLayout::kMostRows);
  for (std::int64_t n = fewest; n < fewest + kTried && n <= g.out_width; ++n)
    all.push_back({.per_line = n, .rows = amx_rows_of(g, 1, n)});
  for (std::int64_t lines = 2; copies && lines <= g.out_height; ++lines) {
    all.push_back({.lines = lines, .rows = amx_rows_of(g, lines, 1)});
    if (all.back().rows > AmxLayout::kMostRows) break;
  }
  return all;
}

struct Arrangement {
  int at_once = 1, joined = 1;
};

// Units by vectors of a block.
std::vector<Arrangement> arrangements_of(const ChannelBlocks& blocks) {
  if (blocks.max_vectors > 1) return {{blocks.max_vectors == 2 ? 2 : 1, 1}};
  return {{2, 2}, {4, 1}, {3, 1}, {2, 1}, {1, 4}, {1, 3}, {1, 2}, {1, 1}};
}

// Of x that the units of an item read.
std::int64_t x_bytes_of(const ConvGeometry& g, const AmxSchedule& schedule) {
  const AmxUnits& units = schedule.units;
  const std::int64_t in_line = std::min<std::int64_t>(schedule.at_once, units.per_line),
                     lines = ceil_div(schedule.at_once, in_line) * units.lines;
  const std::int64_t columns = std::min(g.span_bytes(in_line * units.rows), amx_columns(g) * g.channels);
  return ((lines - 1) * std::min(g.stride_h, g.kernel_h) + g.kernel_h) *
         std::min(columns, units.columns(g) * in_line * g.taps * g.run_bytes);
}

// Whether a packed block is not joined to the `count` before it.
bool begins_block(const ChannelBlock& block, std::int64_t x_offset, int count, int joined) {
  return count == 0 || count == joined || block.x_offset != x_offset;
}

// How many blocks of so many vectors are joined, and in all: what a cost is made of, a few hundred times for a layer.
struct JoinedCounts {
  std::int64_t all = 0;
  std::array<std::int64_t, AmxLayout::kRegisters> of_vectors{};

  static JoinedCounts of(const ChannelBlocks& blocks, int joined) {
    JoinedCounts counts;
    std::int64_t x_offset = 0;
    std::size_t vectors = 0;
    int count = 0;
    for (const ChannelBlock& block : blocks.blocks) {
      if (begins_block(block, x_offset, count, joined)) {
        ++counts.all;
        count = 0;
      } else {
        --counts.of_vectors[vectors];
      }
      vectors = static_cast<std::size_t>(block.vectors) + (count == 0 ? 0 : vectors);
      ++counts.of_vectors[vectors];
      x_offset = block.x_offset;
      ++count;
    }
    return counts;
  }
};

bool fits_registers(const AmxSchedule& schedule, const ChannelBlocks& blocks) {
  const int vectors = blocks.max_vectors > 1 ? blocks.max_vectors : schedule.joined;
  const int rest = AmxLayout::kRegisters - schedule.at_once * vectors - 1;
  return rest >= (vectors == 1 ? 1 : schedule.at_once);
}

// All but its chunks: that it has no more of them than joined blocks.
bool amx_is_legal(const AmxSchedule& s, const ConvGeometry& g, const ChannelBlocks& blocks, bool copies) {
  const bool is_joined = s.joined == 1 || (blocks.max_vectors == 1 && s.joined <= 4);
  const bool has_lines = s.units.lines == 1 || (copies && s.units.per_line == 1 && g.stride_h == 1 && g.stride_w == 1 &&
                                                s.units.lines <= g.out_height);
  return s.units.lines >= 1 && s.units.per_line >= 1 && s.units.per_line <= g.out_width && s.units.rows >= 1 &&
         s.units.rows <= AmxLayout::kMostRows && s.at_once >= 1 && s.at_once <= AmxLayout::kMostUnits &&
         s.at_once <= s.units.per_image(g) && s.joined >= 1 && s.chunks >= 1 && is_joined && has_lines &&
         fits_registers(s, blocks);
}

// amx_cycles, with what schedules that join as many blocks have in common.
double cycles_of(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxSchedule& schedule,
                 const AmxConditions& conditions, const JoinedCounts& counts) {
  const std::int64_t units = schedule.units.per_image(g), items = schedule.items_per_image(g);
  const double pixels = static_cast<double>(g.out_height * g.out_width) / static_cast<double>(items);
  const double share = static_cast<double>(units) / static_cast<double>(items * schedule.at_once);
  const Costed costed{g, schedule, x_bytes_of(g, schedule), blocks.weight_bytes / schedule.chunks};
  double cycles = kItem * static_cast<double>(schedule.chunks);
  for (std::size_t vectors = 1; vectors < counts.of_vectors.size(); ++vectors) {
    if (counts.of_vectors[vectors] == 0) continue;
    cycles += costed.block(static_cast<int>(vectors), pixels) * share * static_cast<double>(counts.of_vectors[vectors]);
  }
  const double copied = amx_copies(g, conditions) ? static_cast<double>(g.height * amx_columns(g) * g.channels) : 0.0;
  const double all = static_cast<double>(g.batch) * (cycles * static_cast<double>(items) +
                                                     kCopied * copied * static_cast<double>(schedule.chunks)) +
                     kBeyondL2 * static_cast<double>(blocks.weight_bytes);
  const std::int64_t shared = g.batch * items * schedule.chunks;
  // Threads that split channels find half of x in each other's caches, as do those of the next layer.
  const double pixels_in = static_cast<double>(g.batch * g.height * g.width * g.channels),
               pixels_out = static_cast<double>(g.batch * g.out_height * g.out_width * g.out_channels);
  const double elsewhere = schedule.chunks > 1 && conditions.threads > 1 ? kElsewhere * (pixels_in + pixels_out) : 0.0;
  // The last item of an image may have few units; the thread that takes longest has none of these.
  const std::int64_t in_all = g.batch * units * schedule.chunks,
                     of_slowest = std::min(in_all, ceil_div(shared, conditions.threads) * schedule.at_once);
  return all * static_cast<double>(of_slowest) / static_cast<double>(in_all) + elsewhere;
}

// Calls `look` with each that is legal and worth looking at, and with how many blocks it joins.
template <class Look>
void for_each_schedule(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxConditions& conditions,
                       const Look& look) {
  const bool copies = amx_copies(g, conditions);
  const std::vector<AmxUnits> all_units = units_of(g, copies);
  JoinedCounts counts;
  AmxSchedule tried{.joined = 0};
  for (const Arrangement& arrangement : arrangements_of(blocks)) {
    if (arrangement.joined != tried.joined) counts = JoinedCounts::of(blocks, arrangement.joined);
    tried.at_once = arrangement.at_once;
    tried.joined = arrangement.joined;
    const std::int64_t together =
        std::clamp<std::int64_t>(conditions.l2_bytes / 3 * counts.all / blocks.weight_bytes, 1, counts.all);
    const std::int64_t fewest = ceil_div(counts.all, together);
    for (const AmxUnits& units : all_units) {
      tried.units = units;
      for (tried.chunks = fewest; tried.chunks <= std::min(counts.all, fewest + 2 * conditions.threads);
           ++tried.chunks) {
        for (const bool streams_w : {false, true}) {
          tried.streams_w = streams_w;
          if (amx_is_legal(tried, g, blocks, copies)) look(tried, counts);
        }
      }
    }
  }
}

}  // namespace

std::string amx_refusal(const ConvGeometry& g) {
  constexpr double kMostBytes = 1 << 26, kItemLines = 5.0;
  if (g.kernel_h * g.kernel_w == 1) return {};  // lines of a pointwise one are no longer than x
  const double lines = kItemLines * static_cast<double>(g.stride_h) +
                       static_cast<double>(g.kernel_h) * static_cast<double>(g.dilation_h);
  return lines * static_cast<double>(amx_columns(g)) * static_cast<double>(g.channels) > kMostBytes
             ? "needs less than 64 MiB of input in the lines under five lines of output"
             : "";
}

std::int64_t amx_columns(const ConvGeometry& g) {
  return (g.out_width - 1) * g.stride_w + (g.kernel_w - 1) * g.dilation_w + 1;
}

std::vector<ChannelBlock> joined_blocks(const ChannelBlocks& blocks, int joined) {
  std::vector<ChannelBlock> result;
  int count = 0;
  for (const ChannelBlock& block : blocks.blocks) {
    if (begins_block(block, result.empty() ? 0 : result.back().x_offset, count, joined)) {
      result.push_back(block);
      count = 1;
      continue;
    }
    result.back().channels += block.channels;
    result.back().vectors += block.vectors;
    ++count;
  }
  return result;
}

double amx_cycles(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxSchedule& schedule,
                  const AmxConditions& conditions) {
  return cycles_of(g, blocks, schedule, conditions, JoinedCounts::of(blocks, schedule.joined));
}

bool amx_copies(const ConvGeometry& g, const AmxConditions& conditions) {
  const bool is_inside = g.pad_left == 0 && g.pad_top == 0 && amx_columns(g) <= g.width &&
                         (g.out_height - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h < g.height;
  return !is_inside || g.overread() > (conditions.may_read_beyond ? static_cast<std::int64_t>(kReadSlack) : 0);
}

std::vector<AmxSchedule> amx_schedules(const ConvGeometry& g, const ChannelBlocks& blocks,
                                       const AmxConditions& conditions) {
  std::vector<AmxSchedule> all;
  for_each_schedule(g, blocks, conditions,
                    [&](const AmxSchedule& schedule, const JoinedCounts&) { all.push_back(schedule); });
  return all;
}

AmxSchedule amx_schedule(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxConditions& conditions) {
  constexpr double kGain = 0.985;  // what comes later must pay
  AmxSchedule best;
  double least = HUGE_VAL;
  for_each_schedule(g, blocks, conditions, [&](const AmxSchedule& schedule, const JoinedCounts& counts) {
    const double cycles = cycles_of(g, blocks, schedule, conditions, counts);
    if (cycles < kGain * least) least = cycles, best = schedule;
  });
  return best;
}

std::string AmxSchedule::to_string() const {
  const std::string lines = units.lines > 1 ? std::to_string(units.lines) + " lines in " : "";
  return lines + std::to_string(units.rows) + " rows, " + std::to_string(at_once) + "x" + std::to_string(joined) +
         (streams_w ? ", w streamed" : "") + (chunks > 1 ? ", " + std::to_string(chunks) + " chunks" : "");
}

std::vector<std::byte> AmxSchedule::encode() const {
  return encode_schedule({{units.lines, units.per_line, at_once, joined, streams_w ? 1 : 0, chunks}});
}

std::optional<AmxSchedule> decode_amx_schedule(std::span<const std::byte> bytes, const ConvGeometry& g,
                                               const ChannelBlocks& blocks, const AmxConditions& conditions) {
  const auto numbers = decode_schedule(bytes, std::size(kAmxKnobs));
  if (!numbers) return std::nullopt;
  const auto [lines, per_line, at_once, joined, streams_w, chunks] =
      std::tuple((*numbers)[0], (*numbers)[1], (*numbers)[2], (*numbers)[3], (*numbers)[4], (*numbers)[5]);
  if (per_line == 0 || streams_w > 1 || std::max({lines, at_once, joined}) > 64) return std::nullopt;
  const AmxSchedule schedule{.units = {lines, per_line, amx_rows_of(g, lines, per_line)},
                             .at_once = static_cast<int>(at_once),
                             .joined = static_cast<int>(joined),
                             .streams_w = streams_w != 0,
                             .chunks = chunks};
  // Only what fits the registers may be counted.
  if (!amx_is_legal(schedule, g, blocks, amx_copies(g, conditions))) return std::nullopt;
  if (schedule.chunks > JoinedCounts::of(blocks, schedule.joined).all) return std::nullopt;
  return schedule;
}

}  // namespace octavo
