// AmxSchedule: how a convolution is cut up for AMX: which pixels a tile register holds, how many registers at a time,
// which channels stay in the cache meanwhile. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_AMX_SCHEDULE_H_
#define OCTAVO_KERNELS_CONV_AMX_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conv/geometry.h"
#include "kernels/conv/split.h"

namespace octavo {

// The pixels of a unit: of an output line that is cut into `per_line`, as evenly as can be, or of `lines` short lines
// in one, with the padding between them, whose sums are left unused.
struct AmxUnits {
  std::int64_t lines = 1;
  std::int64_t per_line = 1;
  int rows = 1;  // of the register

  // Of the output, at most.
  std::int64_t columns(const ConvGeometry& g) const { return lines > 1 ? g.out_width : rows; }
  std::int64_t per_image(const ConvGeometry& g) const { return ceil_div(g.out_height, lines) * per_line; }
};

inline constexpr std::string_view kAmxKnobs[] = {"lines", "parts", "units", "vectors", "streams_w", "chunks"};

struct AmxSchedule {
  AmxUnits units;
  int at_once = 1;          // units of an item
  int joined = 1;           // packed blocks of one that is multiplied
  bool streams_w = false;   // past L1
  std::int64_t chunks = 1;  // of blocks, as evenly as can be: all items pass before the next

  std::int64_t items_per_image(const ConvGeometry& g) const { return ceil_div(units.per_image(g), at_once); }
  // "14x2 2x2 stream w, 4 chunks": rows x units of a line, units x vectors.
  std::string to_string() const;
  // As StepSpec::schedule.
  std::vector<std::byte> encode() const;
};

// Blocks of channels as a schedule multiplies them: `joined` packed ones of the same group in each, or fewer.
std::vector<ChannelBlock> joined_blocks(const ChannelBlocks& blocks, int joined);

// What decides about a schedule beside the shape.
struct AmxConditions {
  std::int64_t l2_bytes = 0;
  int threads = 1;
  bool may_read_beyond = true;  // kReadSlack bytes after x
};

// Why the lines of x cannot be copied, or empty.
std::string amx_refusal(const ConvGeometry& geometry);
// Columns of x that the copy of a line has.
std::int64_t amx_columns(const ConvGeometry& geometry);
// Whether units would read padding, or beyond the end of x: then lines with padding around them are copied into
// scratch.
bool amx_copies(const ConvGeometry& geometry, const AmxConditions& conditions);
// All that are legal and worth looking at.
std::vector<AmxSchedule> amx_schedules(const ConvGeometry& geometry, const ChannelBlocks& blocks,
                                       const AmxConditions& conditions);
// The one that is predicted to be the fastest.
AmxSchedule amx_schedule(const ConvGeometry& geometry, const ChannelBlocks& blocks, const AmxConditions& conditions);
// What `encode` made; nullopt where it is not legal for the shape.
std::optional<AmxSchedule> decode_amx_schedule(std::span<const std::byte> bytes, const ConvGeometry& geometry,
                                               const ChannelBlocks& blocks, const AmxConditions& conditions);
// Cycles of all of it on as many threads; measured on Granite Rapids.
double amx_cycles(const ConvGeometry& geometry, const ChannelBlocks& blocks, const AmxSchedule& schedule,
                  const AmxConditions& conditions);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_AMX_SCHEDULE_H_
