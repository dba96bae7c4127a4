// Copying lines of x. Part of kernels/conv/.
#include "kernels/conv/x86/amx_lines.h"

#include <algorithm>
#include <cstring>

#include "kernels/conv/amx_schedule.h"

namespace octavo {
namespace {

std::int64_t lines_of_x(const ConvGeometry& g, std::int64_t out_lines) {
  return (out_lines - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h + 1;
}

}  // namespace

AmxLinesPlan AmxLinesPlan::of(const ConvGeometry& g, std::int64_t out_lines, std::int64_t cache_bytes) {
  AmxLinesPlan plan{.columns = amx_columns(g), .line_bytes = amx_columns(g) * g.channels};
  const std::int64_t all = lines_of_x(g, g.out_height), needed = lines_of_x(g, std::min(out_lines, g.out_height));
  plan.lines = std::clamp(cache_bytes / plan.line_bytes, needed, std::max(needed, all));
  plan.bytes = ceil_div(plan.lines * plan.line_bytes + g.overread(), 64) * 64;
  return plan;
}

const std::uint8_t* AmxLines::lines_under(const std::uint8_t* x, std::int64_t image, std::int64_t first,
                                          std::int64_t count) noexcept {
  const std::int64_t begin = first * g_.stride_h, end = begin + lines_of_x(g_, count);
  if (image != image_ || begin < begin_ || begin > end_ || end - begin_ > plan_.lines) {
    image_ = image;
    begin_ = end_ = begin;
  }
  const std::uint8_t* const image_x = x + image * g_.height * g_.width * g_.channels;
  for (; end_ < end; ++end_) copy_line(image_x, end_ - g_.pad_top, copies_ + (end_ - begin_) * plan_.line_bytes);
  return copies_ + (begin - begin_) * plan_.line_bytes;
}

void AmxLines::copy_line(const std::uint8_t* image, std::int64_t line, std::uint8_t* to) const noexcept {
  const auto fill = [&](std::int64_t first, std::int64_t end) {
    std::memset(to + first * g_.channels, zero_point_, static_cast<std::size_t>((end - first) * g_.channels));
  };
  if (line < 0 || line >= g_.height) return fill(0, plan_.columns);
  const std::int64_t begin = std::min(g_.pad_left, plan_.columns), end = std::min(begin + g_.width, plan_.columns);
  fill(0, begin);
  std::memcpy(to + begin * g_.channels, image + line * g_.width * g_.channels,
              static_cast<std::size_t>((end - begin) * g_.channels));
  fill(end, plan_.columns);
}

}  // namespace octavo
