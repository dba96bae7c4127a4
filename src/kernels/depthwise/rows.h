// The contracts of depthwise/: what the functions compiled for each instruction set compute. Part of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_ROWS_H_
#define OCTAVO_KERNELS_DEPTHWISE_ROWS_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"

namespace octavo {

// One output position, all channels: acc[oc] = bias[oc] + sum over taps of x[tap][oc / multiplier] * w[tap][oc].
struct DepthwisePosition {
  const std::uint8_t* const* taps = nullptr;  // where each tap reads x; never null (padding is a row of its own)
  std::int64_t pairs = 0;                     // of taps; the last one may have a tap without weight
  std::int64_t channels = 0;                  // of y
  std::int64_t channel_multiplier = 1;        // output channels per input channel
  bool x_is_signed = false;
  const std::int16_t* weights = nullptr;  // [pair][channels][2]
  const std::int32_t* bias = nullptr;
  std::int32_t* acc = nullptr;  // scratch, `channels` long
};

struct DepthwiseFunctions {
  void (*accumulate)(const DepthwisePosition& position);
  // y and residual: that position's first channel.
  void (*finish)(const RowEpilogue& epilogue, const std::int32_t* acc, std::int64_t channels,
                 const std::uint8_t* residual, void* y);
};

// A strip of interleaved input serves some output rows of one block of 64, 32 or 16 channels. Four input rows make a
// group: the strip holds, per group and column, the four bytes of each channel side by side, so that one vpdpbusd or
// sdot takes four taps. Columns lie by phase: those whose numbers have the same remainder by the stride.
struct VnniStrip {
  const std::uint8_t* const* rows = nullptr;  // 4 * groups input rows at column `first_inside`; null: padding
  std::int64_t groups = 1;
  std::int64_t used_rows = 4;      // the first of a group, where there is only one: others have no weights
  std::int64_t column_stride = 0;  // bytes from a column of x to the next: its channels
  std::int64_t columns = 0;        // of the input under the strip
  std::int64_t phases = 1;         // the stride
  std::int64_t phase_columns = 0;  // of each, for the last ones perhaps one more than there are
  std::int64_t first_inside = 0, end_inside = 0;  // columns that lie in the image
  std::uint8_t padding = 0;                       // x's zero point as a byte
  std::uint8_t flip = 0;                          // 0x80 or 0: xored into every byte, padding included
  std::uint8_t* strip = nullptr;                  // scratch: groups * 4 * quarter_columns() * block bytes

  std::int64_t quarter_columns() const { return phases * phase_columns; }
};
// Where the first position of a row finds a column of the window.
struct VnniTap {
  std::int64_t phase = 0, column = 0;
};
// `count` output positions of one output row from a strip, for one block of channels.
struct VnniRow {
  const std::uint8_t* strip = nullptr;
  std::int64_t groups = 1, phases = 1, phase_columns = 0;
  std::int64_t kernel_width = 0;         // every column twice where weights have two parts
  std::int64_t parts = 1;                // bytes that are a weight together
  const VnniTap* taps = nullptr;         // [kernel_width]
  const std::int8_t* weights = nullptr;  // [group][kw][4 * block], in the strip's order
  const std::int32_t* bias = nullptr;    // in the order of the accumulators
  RowEpilogue epilogue;                  // multipliers and rests in the same order, without a table
  bool to_signed = false;
  // Of functions that take x as s8: 16 bits hold every result before it is a byte, and all that is clamped is what u8
  // does not hold; without a zero point but for that of to_signed, and without a rest.
  bool is_bare = false;
  std::int64_t count = 0;
  std::uint8_t* y = nullptr;
  std::int64_t y_stride = 0;  // bytes from a position to the next
  std::int32_t* sums =
      nullptr;  // where set, the accumulators go here, [position][channel of the block], instead of results to y
};
struct VnniFunctions {
  void (*interleave)(const VnniStrip& strip);
  void (*row)(const VnniRow& row);
  // Both in one, without the strip's memory: of one group, windows of three neighbouring columns and a stride from
  // VnniSet::least_direct_stride to 2. Null: there is none for this block.
  void (*direct)(const VnniStrip& strip, const VnniRow& row);
  // Bytes of positions that lie side by side to y.
  void (*spread)(const std::uint8_t* from, const VnniRow& row);
};
// For blocks of 64, 32 and 16 channels. A strip is readable kVnniBytesAhead beyond its end (values do not matter).
inline constexpr int kVnniBlocks[] = {64, 32, 16};
inline constexpr std::int64_t kVnniBytesAhead = 2 * 64;
struct VnniSet {
  VnniFunctions blocks[3];
  int widest = 0;                                     // the first of the blocks that it has
  int least_direct_stride = 2, most_direct_rows = 4;  // of windows
  bool takes_signed = false;                          // x as s8, else as u8: bytes of the other type are flipped
};
extern const VnniSet kStripsAvx512Vnni;
extern const VnniSet kStripsDotprod;

// Channel within a block of accumulator `lane` of vector `quarter`: vpunpck works within 16 bytes.
constexpr std::int64_t vnni_channel(std::int64_t quarter, std::int64_t lane) {
  return lane / 4 * 16 + quarter * 4 + lane % 4;
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_ROWS_H_
