// What kernels on a device are given: plain data that the host fills in, pointers last of all (cuda/launch.h). Part of
// cuda/.
#ifndef OCTAVO_CUDA_ARGUMENTS_H_
#define OCTAVO_CUDA_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>

#include "base/run_form.h"
#include "kernels/epilogue/rows.h"
#include "kernels/integer_norm/lines.h"
#include "ops/binary/kind.h"
#include "ops/integer_resize/interpolated.h"
#include "ops/pad/mode.h"
#include "ops/reduce/kind.h"
#include "ops/row_requantize/row_scale.h"
#include "ops/unary/kind.h"

namespace octavo::cuda {

// Division of numbers below 2^31 by one that a host knows, without dividing: Granlund and Montgomery, "Division by
// Invariant Integers using Multiplication" (1994), figure 4.1.
struct Divisor {
  std::uint32_t divisor = 1, multiplier = 1, shift = 0;

  // Of 1 to 2^31 - 1; others stay 1, and are for kernels that divide.
  static constexpr Divisor of(std::int64_t extent) {
    if (extent < 1 || extent >= std::int64_t{1} << 31) return {};
    const auto divisor = static_cast<std::uint32_t>(extent);
    std::uint32_t shift = 0;
    while (std::uint64_t{1} << shift < divisor) ++shift;
    const std::uint64_t multiplier = (((std::uint64_t{1} << shift) - divisor) << 32) / divisor + 1;
    return {divisor, static_cast<std::uint32_t>(multiplier), shift};
  }
  constexpr std::uint32_t quotient(std::uint32_t n) const {
    return (static_cast<std::uint32_t>(std::uint64_t{n} * multiplier >> 32) + n) >> shift;
  }
};

// How a window slides over an NHWC image.
struct WindowArgs {
  std::int32_t height = 1, width = 1, channels = 1;              // of x
  std::int32_t out_height = 1, out_width = 1, out_channels = 1;  // of y
  std::int32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int32_t pad_top = 0, pad_left = 0;
  Divisor by_out_width, by_out_height, by_kernel_w;
};

// Scales and zero points of x that are known in a run, one for so many pixels of y; what reals are clamped to.
struct RunScaleArgs {
  const float* scale = nullptr;
  const std::uint8_t* zero_point = nullptr;
  std::int64_t pixels = 1;
  float lowest = 0.0f, highest = 0.0f;
  RunForm form = RunForm::onnx;
};

// y[pixel][channel] = epilogue(bias + sum over k of x[pixel][k] * w[channel][k]), a group of channels in each z of the
// grid, tiles of pixels in x, of channels in y.
struct ConvArgs {
  const std::byte* x = nullptr;
  const std::byte* w = nullptr;            // s8 [group][channel][k], zeros between the last of a group and a whole tile
  const std::int32_t* bias = nullptr;      // with multipliers and rests in the same places
  const std::byte* padding = nullptr;      // 16 times what stands around the image; null: the zero point of a run
  const std::int32_t* w_offset = nullptr;  // of kernels with one, in the places of bias
  const std::byte* other = nullptr;
  std::byte* y = nullptr;
  WindowArgs window;
  RowEpilogue epilogue;
  RunScaleArgs run;         // of kernels that find scales there: bias is then what the zero point is multiplied by
  std::int64_t pixels = 0;  // of all images of y, fewer than 2^31
  std::int32_t group_in = 1, group_out = 1;   // channels of a group
  std::int32_t padded_out = 1, padded_k = 1;  // of a group, in w
};

// A channel of its own for each group; `lanes` of them (4 or 1) by each thread.
struct DepthwiseArgs {
  const std::byte* x = nullptr;
  const std::byte* w = nullptr;  // s8 [tap][channel]
  const std::int32_t* bias = nullptr;
  const std::int32_t* w_offset = nullptr;  // null: none
  const std::byte* other = nullptr;
  std::byte* y = nullptr;
  WindowArgs window;
  RowEpilogue epilogue;
  std::int64_t threads = 0;    // of all blocks that have something to do
  Divisor by_groups;           // threads of a pixel
  std::int32_t per_input = 1;  // channels of y for each of x
  std::int32_t x_zero_point = 0;
};

inline constexpr int kWidePoolChannels = 128;  // of a block, of windows that its warps share

struct PoolArgs {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  WindowArgs window;
  RowEpilogue epilogue;
  std::int64_t threads = 0;
  Divisor by_groups;  // threads of a pixel
  std::int32_t x_zero_point = 0;
  float x_scale = 1.0f;
  std::int32_t count = 0;                            // what means divide by; 0: taps inside the image
  std::int32_t is_signed = 0;                        // x
  std::int32_t pads = 0;                             // of f32: taps inside the padded image count, too
  std::int32_t padded_height = 0, padded_width = 0;  // from the first row and column of x on
};

inline constexpr int kMostAxes = 6;

// y, dense, of axes that end at the last one of these; of an operand each has a stride in elements, 0 where it is
// broadcast.
struct StridedArgs {
  const std::byte* x = nullptr;
  const std::byte* other = nullptr;
  const std::byte* third = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0;
  std::int64_t x_first = 0;  // element of x that the first one of y is
  std::int64_t size[kMostAxes] = {};
  Divisor by_size[kMostAxes];
  std::int64_t x_stride[kMostAxes] = {};
  std::int64_t other_stride[kMostAxes] = {};
  std::int64_t third_stride[kMostAxes] = {};
};

struct PairArgs {
  StridedArgs at;
  RowEpilogue epilogue;
  std::int32_t x_is_signed = 0, other_is_signed = 0;
};

// quantized_elementwise of sums, s32 or s16; the other operand of `at` is their factor, where there is one.
struct SumArgs {
  StridedArgs at;
  RowEpilogue epilogue;
  std::int32_t is_wide = 1;  // x is s32
};

// y[i] = table[x[i]], or a copy.
struct BytesArgs {
  const std::byte* x = nullptr;
  const std::byte* table = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0;
};

// Element `index` of an axis of y is index - begin of x, or what the mode says where there is none.
struct PadArgs {
  const std::byte* x = nullptr;
  const std::byte* value = nullptr;  // null: 0
  std::byte* y = nullptr;
  std::int64_t elements = 0;
  std::int64_t size[kMostAxes] = {};  // of y; axes end at the last one of these
  std::int64_t begin[kMostAxes] = {};
  std::int64_t x_size[kMostAxes] = {};
  std::int64_t x_stride[kMostAxes] = {};
  PadMode mode = PadMode::constant;
};

inline constexpr int kMostParts = 16;

// A row of y is a row of each part after the other. Sizes are in units of as many bytes as divide all of them.
struct ConcatArgs {
  const std::byte* part[kMostParts] = {};
  std::byte* y = nullptr;
  std::int64_t elements = 0;          // of y
  std::int64_t end[kMostParts] = {};  // where each ends in a row
  std::int64_t parts = 1;
};

// y[outer][i] = x[outer][indices[i]], rows of `row` units; an index outside of the axis is clamped.
struct GatherArgs {
  const std::byte* x = nullptr;
  const std::byte* indices = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0;  // units of y
  std::int64_t count = 1, row = 1, axis = 1;
  std::int32_t has_64_bits = 0;  // indices
};

// The types that cast converts.
enum class CastType : std::uint8_t { boolean, u8, s8, s32, s64, f32 };

struct CastArgs {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0;
  CastType from = CastType::f32, to = CastType::f32;
};

struct UnaryArgs {
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t elements = 0;
  UnaryNumbers numbers;
  UnaryKind kind = UnaryKind::identity;
};

// y f32, or bytes that are 1 where a comparison holds.
struct BinaryArgs {
  StridedArgs at;
  BinaryKind kind = BinaryKind::add;
};

enum class StoredType : std::uint8_t { u8, s8, s16 };

// Stored values to f32, with one scale or one for each of `channels`, whose elements are `inner` apart.
struct DequantizeArgs {
  const std::byte* x = nullptr;
  const float* scale = nullptr;
  const std::byte* zero_point = nullptr;  // null: 0
  float* y = nullptr;
  std::int64_t elements = 0, channels = 1, inner = 1;
  StoredType type = StoredType::u8;
};

// f32 to stored values, scales as above.
struct QuantizeArgs {
  const float* x = nullptr;
  const float* scale = nullptr;
  const std::byte* zero_point = nullptr;  // null: 0
  std::byte* y = nullptr;
  std::int64_t elements = 0, channels = 1, inner = 1;
  std::int32_t lowest = 0, highest = 255;
  StoredType type = StoredType::u8;
  std::int32_t multiplies = 0;   // by the reciprocal of the scale
  std::int32_t rounds_away = 0;  // halves from 0
};

// Bytes of rows of n values of f32 or s16, with a scale and a zero point for each row, found in the run.
struct RowScaleArgs {
  const std::byte* x = nullptr;
  const float* factor = nullptr;  // n each, of s16; null: none
  std::uint8_t* y = nullptr;
  float* scale = nullptr;
  std::uint8_t* zero_point = nullptr;
  std::int64_t n = 0;
  RowValues values;  // of s16 without factors
  DynamicForm form = DynamicForm::onnx;
  float least_scale = 0.0f;
};

// What fused_conv adds, and where.
enum class FloatAddition : std::uint8_t { none, before_activation, after_activation };

// y[pixel][channel] = the end of a chain of fused multiply-adds over k, in f32, x being 0 outside of the image.
struct FloatConvArgs {
  const float* x = nullptr;
  const float* w = nullptr;     // [k][group][padded_out]
  const float* bias = nullptr;  // [group][padded_out]
  const float* residual = nullptr;
  float* y = nullptr;
  WindowArgs window;
  std::int64_t pixels = 0;                   // of all images of y
  std::int32_t group_in = 1, group_out = 1;  // channels of a group
  std::int32_t groups = 1, padded_out = 1, k = 1;
  UnaryNumbers numbers;
  UnaryKind activation = UnaryKind::identity;
  FloatAddition addition = FloatAddition::none;
};

// Of an axis of a resize: position i of y is made of the elements index[first[i]] to index[first[i + 1] - 1] of x.
struct TapsArgs {
  const std::int32_t* first = nullptr;
  const std::int32_t* index = nullptr;
  const double* weight = nullptr;  // of each
  std::int64_t x_size = 1, size = 1;
};

// Two axes next to each other that change, and `inner` elements behind them.
struct ResizeArgs {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  TapsArgs rows, columns;
  std::int64_t elements = 0, inner = 1;
  StoredType type = StoredType::u8;  // of bytes
};

// integer_resize: as its operands are.
struct IntegerResizeArgs {
  const std::byte* x = nullptr;
  const std::int32_t* rows = nullptr;
  const float* row_weights = nullptr;
  const std::int32_t* columns = nullptr;
  const float* column_weights = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0, from_height = 1, from_width = 1, height = 1, width = 1, channels = 1;
  std::int32_t shift = 0, is_signed = 0;
  ResizeRounding rounding = ResizeRounding::ten_bits;
};

// Products of matrices a [m, k] and b [k, n], in f32 or of bytes; where those of a batch lie, axes ending at the last
// one.
struct ProductArgs {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* y = nullptr;
  std::int64_t m = 0, k = 0, n = 0;
  std::int64_t size[kMostAxes] = {}, a_stride[kMostAxes] = {}, b_stride[kMostAxes] = {};
  // Of bytes: zero points for rows of a and columns of b in turn, as many as there are; without these, one each.
  const std::byte* a_zero_points = nullptr;
  const std::byte* b_zero_points = nullptr;
  std::int64_t a_zeros = 1, b_zeros = 1;
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  std::int32_t a_is_signed = 0, b_is_signed = 0;
  RowEpilogue epilogue;
};

// float_depthwise: a chain for each channel, over taps in the order that `taps` says.
struct FloatDepthwiseArgs {
  const float* x = nullptr;
  const std::int32_t* taps = nullptr;  // row-major numbers
  const float* w = nullptr;            // [tap in this order][channel]
  const float* bias = nullptr;
  float* y = nullptr;
  WindowArgs window;
  std::int64_t threads = 0;
  float lowest = 0.0f, highest = 0.0f;
};

// Lines of n f32 that are `inner` apart, of x as [outer, n, inner]; of reduce y has one element for each.
struct LineArgs {
  const float* x = nullptr;
  const float* scale = nullptr;  // layer_norm: n each
  const float* bias = nullptr;   // null: none
  float* y = nullptr;
  std::int64_t lines = 0, n = 0, inner = 1;
  double epsilon = 0.0;
  ReduceKind kind = ReduceKind::sum;
};

// Lines of n stored values side by side.
struct NormArgs {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  std::int64_t lines = 0;
  NormLine line;
  NormResult result;  // without mean and inverse
  float epsilon = 0.0f;
  std::int32_t is_centred = 1;
};

// ByteSoftmaxLines of kernels/lines/functions.h; inverse: of the scale of y.
struct ByteSoftmaxArgs {
  const std::uint8_t* x = nullptr;
  const float* exponentials = nullptr;
  std::uint8_t* y = nullptr;
  std::int64_t lines = 0, n = 0;
  RowRound round;
  float y_scale = 1.0f, inverse = 1.0f;
  std::int32_t is_signed = 0, is_onnx = 1;
};

// q, k or v: rows of `columns`, of which heads read those from `first` on.
struct HeadOperand {
  const std::byte* x = nullptr;
  std::int64_t columns = 0, first = 0;
  std::int32_t zero_point = 0, is_signed = 0;
  std::int32_t piece = 4;  // of bytes in tiles: how many are copied at once, 4 or kAttentionPiece
};

// Added to scores, or 0 where a key is hidden; where both are null there is none. Axes of a batch end at the last one.
struct MaskArgs {
  const float* added = nullptr;
  const std::uint8_t* shown = nullptr;
  std::int64_t size[kMostAxes] = {}, stride[kMostAxes] = {};
  std::int64_t head_stride = 0, query_stride = 0;
  std::int32_t key_stride = 0;  // 1, or 0 where all keys have one
};

struct AttentionArgs {
  HeadOperand operand[3];               // q, k, v
  const std::uint8_t* table = nullptr;  // of bytes: weights
  std::byte* y = nullptr;
  MaskArgs mask;
  std::int64_t queries = 0, keys = 0, heads = 1, kv_heads = 1, head_size = 1, value_size = 1;
  std::int64_t rows = 1;  // queries of a block; of tiles a multiple of 16
  float scale = 1.0f;     // of a product
  float steps = 1.0f;     // of bytes: weight_index
  float factor = 1.0f, offset = 0.0f;
  RowRound round;
  std::int32_t is_real = 1, is_causal = 0;
};

inline constexpr int kTileKeys = 64;  // rows of k and v, and columns of the result, of a tile of attention

inline constexpr int kAttentionPiece = 16;

// Of bytes, in shared memory: the table of weights; q [rows][pitch]; 64 rows of k, twice; of 64 columns of v, twice;
// four words for each query; one for each key. Rows begin an odd number of sixteen bytes apart, so that eight of them
// meet in no bank.
struct ByteAttentionSizes {
  static constexpr int kTable = 256, kValuePitch = kTileKeys + kAttentionPiece;
  int pitch = 0;

  static constexpr ByteAttentionSizes of(const AttentionArgs& p) {
    return {.pitch = (static_cast<int>(p.head_size) + 31) / 32 * 32 + kAttentionPiece};
  }
  constexpr std::int64_t bytes(std::int64_t rows, std::int64_t keys) const {
    const std::int64_t whole_keys = (keys + kTileKeys - 1) / kTileKeys * kTileKeys;
    return rows * pitch + 2 * kTileKeys * (pitch + kValuePitch) + kTable + 16 * rows + 4 * whole_keys;
  }
};

// How far rows of four-byte elements are apart in shared memory: of q, of k and v, of scores. Those of operands differ
// by four modulo 32 banks where heads are a multiple of 32, scores by 16, whose rows have room for four more.
struct AttentionTileSizes {
  int q_pitch = 0, other_pitch = 0, pitch = 0;

  static constexpr AttentionTileSizes of(const AttentionArgs& p) {
    const int head = static_cast<int>(p.head_size) + 4;
    const int values = p.value_size > kTileKeys / 2 ? kTileKeys : kTileKeys / 2;
    return {.q_pitch = head > 32 ? head : 32,
            .other_pitch = head > values ? head : values,
            .pitch = (static_cast<int>(p.keys) + 31) / 32 * 32 + 16};
  }
  constexpr int bytes(int rows) const { return 4 * (rows * (q_pitch + pitch) + kTileKeys * other_pitch); }
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_ARGUMENTS_H_
