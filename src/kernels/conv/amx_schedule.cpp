// Choosing a schedule by what its parts cost. Part of kernels/conv/.
#include "kernels/conv/amx_schedule.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/tensor.h"
#include "kernels/conv/amx_tile.h"

namespace octavo {
namespace {

// Cycles, as measured on Granite Rapids.
constexpr double kLeastRows = 9.25;              // a multiply of fewer rows takes as long
constexpr double kLoad = 8.0;                    // of a tile from L1
constexpr double kFromL2 = 1.0 / 42.0;           // of a byte
constexpr double kFinish = 3.8, kPiece = 15.0;   // of a vector of sums, and of pixels that are finished together
constexpr double kBlock = 60.0, kItem = 100.0;   // a call, and what comes with new pixels
constexpr double kCopy = 1.0 / 24.0;             // of a byte of x
constexpr double kNotHidden = 0.3;               // of the lesser of two that overlap
constexpr std::int64_t kL1 = 40 << 10;

// One way to multiply, and what it reads again and again.
struct Costed {
  const ConvGeometry& g;
  const AmxSchedule& schedule;
  std::int64_t x_bytes = 0, chunk_bytes = 0;

  double block(int vectors, double pixels) const {
    const double units = schedule.at_once, steps = static_cast<double>(g.kernel_h * g.taps * g.run_steps());
    const double multiply = units * vectors * std::max<double>(schedule.units.rows + 0.7, kLeastRows);
    const double loads = kLoad * (units + vectors);
    const std::int64_t w_bytes = vectors * 64 * g.k_dwords();
    double from_l2 = 0.0;
    if (x_bytes + chunk_bytes > kL1) from_l2 += static_cast<double>(w_bytes);
    if (x_bytes + w_bytes > kL1 && !(schedule.streams_w && x_bytes < kL1)) from_l2 += static_cast<double>(x_bytes);
    const double work = std::max({steps * multiply, steps * loads, from_l2 * kFromL2});
    const double finish = kFinish * pixels * vectors + kPiece * std::ceil(pixels / 8.0);
    return std::max(work, finish) + kNotHidden * std::min(work, finish) + kBlock;
  }
};

// Rows of a register that holds so many lines, or a part of one.
int rows_of(const ConvGeometry& g, std::int64_t lines, std::int64_t per_line) {
  const std::int64_t rows = lines > 1 ? (lines - 1) * amx_columns(g) + g.out_width : ceil_div(g.out_width, per_line);
  return static_cast<int>(std::min<std::int64_t>(rows, AmxLayout::kMostRows + 1));
}

// Units that are worth looking at: lines cut so that registers are full or nearly, or several lines in one register.
std::vector<AmxUnits> units_of(const ConvGeometry& g, bool copies) {
  constexpr std::int64_t kTried = 8;
  std::vector<AmxUnits> all;
  const std::int64_t fewest = ceil_div(g.out_width, AmxLayout::kMostRows);
  for (std::int64_t n = fewest; n < fewest + kTried && n <= g.out_width; ++n)
    all.push_back({.per_line = n, .rows = rows_of(g, 1, n)});
  for (std::int64_t lines = 2; copies && lines <= g.out_height; ++lines) {
    all.push_back({.lines = lines, .rows = rows_of(g, lines, 1)});
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
  return ((lines - 1) * std::min(g.stride_h, g.kernel_h) + g.kernel_h) * std::min(columns, units.columns(g) * in_line * g.taps * g.run_bytes);
}

bool fits_registers(const AmxSchedule& schedule, const ChannelBlocks& blocks) {
  const int vectors = blocks.max_vectors > 1 ? blocks.max_vectors : schedule.joined;
  const int rest = AmxLayout::kRegisters - schedule.at_once * vectors - 1;
  return rest >= (vectors == 1 ? 1 : schedule.at_once);
}

bool is_legal(const AmxSchedule& s, const ConvGeometry& g, const ChannelBlocks& blocks, bool copies) {
  const bool is_joined = s.joined == 1 || (blocks.max_vectors == 1 && s.joined <= 4);
  const bool has_lines = s.units.lines == 1 || (copies && s.units.per_line == 1 && g.stride_h == 1 && g.stride_w == 1 &&
                                                s.units.lines <= g.out_height);
  return s.units.lines >= 1 && s.units.per_line >= 1 && s.units.per_line <= g.out_width && s.units.rows >= 1 &&
         s.units.rows <= AmxLayout::kMostRows && s.at_once >= 1 && s.at_once <= AmxLayout::kMostUnits &&
         s.at_once <= s.units.per_image(g) && s.joined >= 1 && s.chunks >= 1 &&
         s.chunks <= static_cast<std::int64_t>(joined_blocks(blocks, s.joined).size()) && is_joined && has_lines &&
         fits_registers(s, blocks);
}

struct Encoded {
  std::uint32_t lines, per_line, at_once, joined, streams_w, chunks;
};

}  // namespace

std::string amx_refusal(const ConvGeometry& g) {
  constexpr std::int64_t kMostLineBytes = std::int64_t{1} << 26;
  const std::int64_t columns = std::max(amx_columns(g), g.width);
  return columns > kMostLineBytes / g.channels / (g.kernel_h + g.stride_h) && g.kernel_h * g.kernel_w > 1
             ? "needs less than 64 MiB of input in the lines under one line of output"
             : "";
}

std::int64_t amx_columns(const ConvGeometry& g) {
  return (g.out_width - 1) * g.stride_w + (g.kernel_w - 1) * g.dilation_w + 1;
}

std::vector<ChannelBlock> joined_blocks(const ChannelBlocks& blocks, int joined) {
  std::vector<ChannelBlock> result;
  int count = 0;
  for (const ChannelBlock& block : blocks.blocks) {
    if (count == 0 || count == joined || block.x_offset != result.back().x_offset) {
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
  const std::int64_t units = schedule.units.per_image(g), items = schedule.items_per_image(g);
  const double pixels = static_cast<double>(g.out_height * g.out_width) / static_cast<double>(items);
  const double share = static_cast<double>(units) / static_cast<double>(items * schedule.at_once);
  const Costed costed{g, schedule, x_bytes_of(g, schedule), blocks.weight_bytes / schedule.chunks};
  double cycles = kItem * static_cast<double>(schedule.chunks), last = 0.0;
  int vectors = 0;
  for (const ChannelBlock& block : joined_blocks(blocks, schedule.joined)) {
    if (block.vectors != vectors) last = costed.block(block.vectors, pixels) * share;
    vectors = block.vectors;
    cycles += last;
  }
  const double copied = amx_copies(g, conditions) ? static_cast<double>(g.height * amx_columns(g) * g.channels) : 0.0;
  const double all = static_cast<double>(g.batch) *
                     (cycles * static_cast<double>(items) + kCopy * copied * static_cast<double>(schedule.chunks));
  const std::int64_t shared = g.batch * items * schedule.chunks;
  return all * static_cast<double>(ceil_div(shared, conditions.threads)) / static_cast<double>(shared);
}

bool amx_copies(const ConvGeometry& g, const AmxConditions& conditions) {
  const bool is_inside = g.pad_left == 0 && g.pad_top == 0 && amx_columns(g) <= g.width &&
                         (g.out_height - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h < g.height;
  return !is_inside || g.overread() > (conditions.may_read_beyond ? static_cast<std::int64_t>(kReadSlack) : 0);
}

std::vector<AmxSchedule> amx_schedules(const ConvGeometry& g, const ChannelBlocks& blocks,
                                       const AmxConditions& conditions) {
  const bool copies = amx_copies(g, conditions);
  std::vector<AmxSchedule> all;
  for (const Arrangement& arrangement : arrangements_of(blocks)) {
    AmxSchedule tried{.at_once = arrangement.at_once, .joined = arrangement.joined};
    const auto count = static_cast<std::int64_t>(joined_blocks(blocks, tried.joined).size());
    const std::int64_t together =
        std::clamp<std::int64_t>(conditions.l2_bytes / 2 * count / blocks.weight_bytes, 1, count);
    const std::int64_t fewest = ceil_div(count, together);
    for (const AmxUnits& units : units_of(g, copies)) {
      tried.units = units;
      for (tried.chunks = fewest; tried.chunks <= std::min(count, fewest + 2 * conditions.threads);
           ++tried.chunks) {
        for (const bool streams : {false, true}) {
          tried.streams_w = streams;
          if (is_legal(tried, g, blocks, copies)) all.push_back(tried);
        }
      }
    }
  }
  return all;
}

AmxSchedule amx_schedule(const ConvGeometry& g, const ChannelBlocks& blocks, const AmxConditions& conditions) {
  constexpr double kGain = 0.985;  // what comes later must pay
  AmxSchedule best;
  double least = HUGE_VAL;
  for (const AmxSchedule& schedule : amx_schedules(g, blocks, conditions)) {
    const double cycles = amx_cycles(g, blocks, schedule, conditions);
    if (cycles < kGain * least) least = cycles, best = schedule;
  }
  return best;
}

std::string AmxSchedule::to_string() const {
  const std::string lines = units.lines > 1 ? std::to_string(units.lines) + " lines in " : "";
  return lines + std::to_string(units.rows) + " rows, " + std::to_string(at_once) + "x" + std::to_string(joined) +
         (streams_w ? ", w streamed" : "") + (chunks > 1 ? ", " + std::to_string(chunks) + " chunks" : "");
}

std::vector<std::byte> AmxSchedule::encode() const {
  const Encoded encoded{static_cast<std::uint32_t>(units.lines), static_cast<std::uint32_t>(units.per_line),
                        static_cast<std::uint32_t>(at_once),     static_cast<std::uint32_t>(joined),
                        static_cast<std::uint32_t>(streams_w),   static_cast<std::uint32_t>(chunks)};
  const auto bytes = std::as_bytes(std::span(&encoded, 1));
  return {bytes.begin(), bytes.end()};
}

std::optional<AmxSchedule> decode_amx_schedule(std::span<const std::byte> bytes, const ConvGeometry& g,
                                               const ChannelBlocks& blocks, const AmxConditions& conditions) {
  Encoded encoded;
  if (bytes.size() != sizeof encoded) return std::nullopt;
  std::memcpy(&encoded, bytes.data(), sizeof encoded);
  if (encoded.per_line == 0 || encoded.streams_w > 1 || std::max({encoded.lines, encoded.at_once, encoded.joined}) > 64) return std::nullopt;
  const AmxSchedule schedule{.units = {encoded.lines, encoded.per_line, rows_of(g, encoded.lines, encoded.per_line)},
                             .at_once = static_cast<int>(encoded.at_once),
                             .joined = static_cast<int>(encoded.joined),
                             .streams_w = encoded.streams_w != 0,
                             .chunks = encoded.chunks};
  if (!is_legal(schedule, g, blocks, amx_copies(g, conditions))) return std::nullopt;
  return schedule;
}

}  // namespace octavo
