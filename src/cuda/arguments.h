// What kernels on a device are given: plain data that the host fills in, pointers last of all (cuda/launch.h). Part of
// cuda/.
#ifndef OCTAVO_CUDA_ARGUMENTS_H_
#define OCTAVO_CUDA_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue/rows.h"

namespace octavo::cuda {

// How a window slides over an NHWC image.
struct WindowArgs {
  std::int32_t height = 1, width = 1, channels = 1;              // of x
  std::int32_t out_height = 1, out_width = 1, out_channels = 1;  // of y
  std::int32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int32_t pad_top = 0, pad_left = 0;
};

// y[pixel][channel] = epilogue(bias + sum over k of x[pixel][k] * w[channel][k]), a group of channels in each z of the
// grid, tiles of pixels in x, of channels in y.
struct ConvArgs {
  const std::byte* x = nullptr;
  const std::byte* w = nullptr;        // s8 [group][channel][k], zeros between the last of a group and a whole tile
  const std::int32_t* bias = nullptr;  // with multipliers and rests in the same places
  const std::byte* padding = nullptr;  // 16 times what stands around the image
  const std::uint8_t* other = nullptr;
  std::byte* y = nullptr;
  WindowArgs window;
  RowEpilogue epilogue;
  std::int64_t pixels = 0;                    // of all images of y
  std::int32_t group_in = 1, group_out = 1;   // channels of a group
  std::int32_t padded_out = 1, padded_k = 1;  // of a group, in w
};

// A channel of its own for each group; `lanes` of them (4 or 1) by each thread.
struct DepthwiseArgs {
  const std::byte* x = nullptr;
  const std::byte* w = nullptr;  // s8 [tap][channel]
  const std::int32_t* bias = nullptr;
  const std::int32_t* w_offset = nullptr;  // null: none
  const std::uint8_t* other = nullptr;
  std::byte* y = nullptr;
  WindowArgs window;
  RowEpilogue epilogue;
  std::int64_t threads = 0;    // of all blocks that have something to do
  std::int32_t per_input = 1;  // channels of y for each of x
  std::int32_t x_zero_point = 0;
};

struct PoolArgs {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  WindowArgs window;
  RowEpilogue epilogue;
  std::int64_t threads = 0;
  std::int32_t x_zero_point = 0;
  float x_scale = 1.0f;
  std::int32_t count = 0;      // what means divide by; 0: taps inside the image
  std::int32_t is_signed = 0;  // x
};

inline constexpr int kMostAxes = 6;

// y, dense, of axes that end at the last one of these; of an operand each has a stride in elements, 0 where it is
// broadcast.
struct StridedArgs {
  const std::byte* x = nullptr;
  const std::byte* other = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0;
  std::int64_t size[kMostAxes] = {};
  std::int64_t x_stride[kMostAxes] = {};
  std::int64_t other_stride[kMostAxes] = {};
};

struct PairArgs {
  StridedArgs at;
  RowEpilogue epilogue;
  std::int32_t x_is_signed = 0, other_is_signed = 0;
};

// y[i] = table[x[i]], or a copy.
struct BytesArgs {
  const std::byte* x = nullptr;
  const std::byte* table = nullptr;
  std::byte* y = nullptr;
  std::int64_t elements = 0;
};

// f32 to bytes with one scale.
struct QuantizeArgs {
  const float* x = nullptr;
  const float* scale = nullptr;
  const std::uint8_t* zero_point = nullptr;  // null: 0
  std::byte* y = nullptr;
  std::int64_t elements = 0;
  std::int32_t lowest = 0, highest = 255;
  std::int32_t is_signed = 0;
  std::int32_t multiplies = 0;  // by the reciprocal of the scale
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_ARGUMENTS_H_
