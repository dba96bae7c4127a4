// Choosing how a depthwise convolution in strips is cut up. Part of kernels/depthwise/.
#include "kernels/depthwise/schedule.h"

#include <algorithm>

#include "kernels/schedule.h"

namespace octavo {
namespace {

// Of strip, which stay in L1 beside weights and results.
constexpr std::int64_t kStripBytes = 24 * 1024;
// Of strip in a schedule that was given: half of the smallest level 2.
constexpr std::int64_t kMostStripBytes = 128 * 1024;

std::int64_t all_columns(const DepthwiseStrips& strips) {
  return std::max<std::int64_t>(4, (strips.shape.out_width + 3) / 4 * 4);
}

// Strips that are a few columns longer than L1 would have them are still legal where a window alone is so wide.
bool depthwise_is_legal(const DepthwiseSchedule& s, const DepthwiseStrips& strips) {
  const bool has_columns = s.columns >= 4 && s.columns % 4 == 0 && s.columns <= all_columns(strips) &&
                           (s.columns == 4 || strip_bytes(strips, s.columns) <= kMostStripBytes);
  return has_columns && s.rows >= 1 && s.rows <= strips.most_rows && (!s.by_channels || strips.units > 1) &&
         (!s.direct || may_be_direct(strips, s.rows));
}

}  // namespace

std::int64_t strip_bytes(const DepthwiseStrips& strips, std::int64_t columns) {
  const DepthwiseShape& s = strips.shape;
  const std::int64_t under = (columns - 1) * s.stride_width + (s.kernel_width - 1) * s.dilation_width + 1;
  return strips.groups * (under + s.stride_width) * 4 * 64 + kVnniBytesAhead;
}

bool may_be_direct(const DepthwiseStrips& strips, std::int64_t rows) {
  const DepthwiseShape& s = strips.shape;
  return strips.has_wide_block && strips.groups == 1 && rows == 1 && s.kernel_width == 3 &&
         s.kernel_height <= strips.most_direct_rows && s.dilation_width == 1 &&
         s.stride_width >= strips.least_direct_stride && s.stride_width <= 2;
}

DepthwiseSchedule depthwise_schedule(const DepthwiseStrips& strips) {
  const DepthwiseShape& s = strips.shape;
  const std::int64_t columns = kStripBytes / (strips.groups * 4 * 64) - (s.kernel_width - 1) * s.dilation_width;
  const bool is_direct = may_be_direct(strips, 1) && (strips.most_rows == 1 || s.stride_width == 1);
  return {.columns = std::clamp<std::int64_t>(columns / s.stride_width / 4 * 4, 4, all_columns(strips)),
          .rows = is_direct ? 1 : strips.most_rows,
          .direct = is_direct};
}

std::vector<DepthwiseSchedule> depthwise_schedules(const DepthwiseStrips& strips) {
  constexpr std::int64_t kFewest = 8, kMostParts = 8;
  std::vector<std::int64_t> columns{depthwise_schedule(strips).columns};
  for (std::int64_t parts = 1; parts <= kMostParts; ++parts) {
    const std::int64_t tried = ((strips.shape.out_width + parts - 1) / parts + 3) / 4 * 4;
    if (tried >= kFewest && std::find(columns.begin(), columns.end(), tried) == columns.end()) columns.push_back(tried);
  }
  std::vector<DepthwiseSchedule> all;
  for (const std::int64_t width : columns) {
    for (std::int64_t rows = strips.most_rows; rows >= 1; --rows) {
      for (const bool by_channels : {false, true}) {
        for (const bool direct : {false, true}) {
          const DepthwiseSchedule tried{width, rows, by_channels, direct};
          if (depthwise_is_legal(tried, strips)) all.push_back(tried);
        }
      }
    }
  }
  return all;
}

std::vector<std::byte> DepthwiseSchedule::encode() const {
  return encode_schedule({{columns, rows, by_channels ? 1 : 0, direct ? 1 : 0}});
}

std::optional<DepthwiseSchedule> decode_depthwise_schedule(std::span<const std::byte> bytes,
                                                           const DepthwiseStrips& strips) {
  const auto numbers = decode_schedule(bytes, std::size(kDepthwiseKnobs));
  if (!numbers || (*numbers)[2] > 1 || (*numbers)[3] > 1) return std::nullopt;
  const DepthwiseSchedule schedule{(*numbers)[0], (*numbers)[1], (*numbers)[2] == 1, (*numbers)[3] == 1};
  return depthwise_is_legal(schedule, strips) ? std::optional(schedule) : std::nullopt;
}

}  // namespace octavo
