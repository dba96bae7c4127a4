// Cutting a convolution into slices of rows. Part of onednn/.
#include "onednn/slices.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace octavo::onednn {
namespace {

// About 20 us on one core: less is not worth a call of its own.
constexpr double kLeastMacsPerSlice = 1e6;

template <class Entry>
std::array<std::int64_t, 2> pair_of(const std::vector<Entry>& values) {
  return {values[0], values[1]};
}

}  // namespace

ConvSize ConvSize::of(const FusedConvAttrs& attrs, const Shape& x, const Shape& y) {
  const Window& window = attrs.window;
  ConvSize size{.n = x[0],
                .ic = x[3],
                .oc = y[3],
                .groups = attrs.groups,
                .in = {x[1], x[2]},
                .out = {y[1], y[2]},
                .kernel = pair_of(window.kernel),
                .strides = pair_of(window.strides),
                .dilations = pair_of(window.dilations),
                .pad_begin = pair_of(window.pad_begin),
                .pad_end = pair_of(window.pad_end)};
  const std::array<std::int64_t, 2> ones{1, 1};
  const std::array<std::int64_t, 2> zeros{0, 0};
  const bool has_no_edge = size.pad_begin == zeros && size.pad_end == zeros;
  if (size.kernel == ones && size.strides == ones && has_no_edge) {
    size.in = size.out = {x[0] * x[1] * x[2], 1};
    size.n = 1;
    size.dilations = ones;
    size.is_line = true;
  } else if (size.in[0] == 1 && size.kernel[0] == 1 && size.pad_begin[0] == 0 && size.pad_end[0] == 0) {
    for (auto* pair :
         {&size.in, &size.out, &size.kernel, &size.strides, &size.dilations, &size.pad_begin, &size.pad_end})
      std::swap((*pair)[0], (*pair)[1]);
    size.is_line = true;
  } else if (size.in[1] == 1 && size.kernel[1] == 1 && size.pad_begin[1] == 0 && size.pad_end[1] == 0) {
    size.is_line = true;
  }
  return size;
}

double ConvSize::macs() const {
  return static_cast<double>(n * out[0] * out[1]) * static_cast<double>(oc * kernel[0] * kernel[1]) *
         static_cast<double>(ic / groups);
}

std::int64_t slices_per_image(const ConvSize& size, int threads, std::int64_t l2_bytes) {
  const double bytes = 4.0 * (static_cast<double>(size.in[0] * size.in[1] * size.ic) +
                              static_cast<double>(size.out[0] * size.out[1] * size.oc));
  const double by_cache = bytes / (static_cast<double>(l2_bytes) / 2.0);
  const double by_work = size.macs() / static_cast<double>(size.n) / kLeastMacsPerSlice;
  std::int64_t slices = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(by_cache, by_work) + 0.5));
  // The slices of all images must come out even on the threads.
  const std::int64_t step = threads / std::gcd<std::int64_t>(size.n, threads);
  slices = (slices + step - 1) / step * step;
  // Slices of equal height share their primitives.
  for (std::int64_t even = slices; even <= 2 * slices && even <= size.out[0]; even += step) {
    if (size.out[0] % even == 0) return even;
  }
  return std::min(slices, size.out[0]);
}

RowSlice slice_of(const ConvSize& size, std::int64_t slices, std::int64_t index) {
  RowSlice slice;
  slice.out_begin = index * size.out[0] / slices;
  slice.out_rows = (index + 1) * size.out[0] / slices - slice.out_begin;
  const std::int64_t extent = (size.kernel[0] - 1) * size.dilations[0] + 1;
  const std::int64_t begin = slice.out_begin * size.strides[0] - size.pad_begin[0];
  const std::int64_t end = begin + (slice.out_rows - 1) * size.strides[0] + extent;
  slice.in_begin = std::max<std::int64_t>(begin, 0);
  slice.in_rows = std::min(end, size.in[0]) - slice.in_begin;
  slice.pad_begin = slice.in_begin - begin;
  slice.pad_end = std::max<std::int64_t>(end - size.in[0], 0);
  return slice;
}

}  // namespace octavo::onednn
