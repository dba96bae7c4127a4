// See window.h. Part of cuda/.
#include "cuda/window.h"

#include <algorithm>

namespace octavo::cuda {
namespace {

// Products of two of them, and sums of these, stay within 32 bits; channels meet them in 64.
constexpr std::int64_t kMostExtent = 1 << 14, kMostChannels = 1 << 26;

bool is_small(std::int64_t extent) { return extent <= kMostExtent; }

std::int32_t word(std::int64_t extent) { return static_cast<std::int32_t>(extent); }

}  // namespace

std::string window_refusal(const Window& window, const Shape& x, const Shape& y) {
  if (window.rank() != 2 || x.rank() != 4 || y.rank() != 4) return "needs two spatial axes";
  const auto are_small = [](const std::vector<std::int64_t>& list) { return std::ranges::all_of(list, is_small); };
  const bool fits = are_small(fixed(window.kernel)) && are_small(window.strides) && are_small(window.dilations) &&
                    are_small(fixed(window.pad_begin)) && are_small(fixed(window.pad_end)) && is_small(x[1]) &&
                    is_small(x[2]) && is_small(y[1]) && is_small(y[2]) && x[3] <= kMostChannels &&
                    y[3] <= kMostChannels && x.elements() > 0 && y.elements() > 0;
  return fits ? "" : "needs extents of 1 to 2^14 and at most 2^26 channels";
}

WindowArgs window_args(const Window& window, const Shape& x, const Shape& y) {
  return {.height = word(x[1]),
          .width = word(x[2]),
          .channels = word(x[3]),
          .out_height = word(y[1]),
          .out_width = word(y[2]),
          .out_channels = word(y[3]),
          .kernel_h = word(window.kernel[0]),
          .kernel_w = word(window.kernel[1]),
          .stride_h = word(window.strides[0]),
          .stride_w = word(window.strides[1]),
          .dilation_h = word(window.dilations[0]),
          .dilation_w = word(window.dilations[1]),
          .pad_top = word(window.pad_begin[0]),
          .pad_left = word(window.pad_begin[1]),
          .by_out_width = Divisor::of(y[2]),
          .by_out_height = Divisor::of(y[1]),
          .by_kernel_w = Divisor::of(window.kernel[1])};
}

}  // namespace octavo::cuda
