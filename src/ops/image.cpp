// Images and windows over them. Part of ops/.
#include "ops/image.h"

#include <algorithm>
#include <string>

namespace octavo {

Image Image::of(const Shape& shape, Layout layout) {
  const std::vector<std::int64_t> strides = shape.strides();
  const int rank = shape.rank();
  const int channel_axis = layout == Layout::channels_first ? 1 : rank - 1;
  const int first = layout == Layout::channels_first ? 2 : 1;
  Image image;
  image.batch = shape[0];
  image.batch_stride = strides[0];
  image.channels = shape[channel_axis];
  image.channel_stride = strides[static_cast<std::size_t>(channel_axis)];
  for (int axis = first; axis < first + rank - 2; ++axis) {
    image.sizes.push_back(shape[axis]);
    image.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return image;
}

std::int64_t Image::positions() const {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return count;
}

std::int64_t Image::offset(std::int64_t position) const {
  std::int64_t result = 0;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    result += position % sizes[axis] * strides[axis];
    position /= sizes[axis];
  }
  return result;
}

ImageExtents ImageExtents::of(const OpenShape& shape, Layout layout) {
  const bool is_first = layout == Layout::channels_first;
  const Dim* const spatial = shape.begin() + (is_first ? 2 : 1);
  return {shape[0], shape[is_first ? 1 : shape.rank() - 1], {spatial, spatial + shape.rank() - 2}};
}

std::vector<Dim> ImageExtents::dims(Layout layout) const {
  std::vector<Dim> dims{batch};
  if (layout == Layout::channels_first) dims.push_back(channels);
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  if (layout == Layout::channels_last) dims.push_back(channels);
  return dims;
}

TapLister::TapLister(const Window& window, const Image& image, std::span<const std::int64_t> output_sizes,
                     Outside outside)
    : window_(window),
      image_(image),
      output_sizes_(output_sizes.begin(), output_sizes.end()),
      outside_(outside),
      starts_(output_sizes.size()) {}

const std::vector<Tap>& TapLister::at(std::int64_t position) {
  for (std::size_t axis = output_sizes_.size(); axis-- > 0;) {
    starts_[axis] = position % output_sizes_[axis] * window_.strides[axis] - window_.pad_begin[axis];
    position /= output_sizes_[axis];
  }
  taps_.clear();
  inside_padded_ = 1;
  for (std::size_t axis = 0; axis < starts_.size(); ++axis) {
    const std::int64_t room = image_.sizes[axis] + window_.pad_end[axis] - starts_[axis];
    inside_padded_ *=
        std::min<std::int64_t>(window_.kernel[axis], (room + window_.dilations[axis] - 1) / window_.dilations[axis]);
  }
  add_axis(0, {.is_inside = true});
  return taps_;
}

// Recursion over the axes keeps the taps in row-major order of the kernel.
void TapLister::add_axis(std::size_t axis, Tap tap) {
  if (axis == starts_.size()) {
    taps_.push_back(tap);
    return;
  }
  const std::int64_t size = image_.sizes[axis];
  const std::int64_t dilation = window_.dilations[axis];
  const std::int64_t start = starts_[axis];
  std::int64_t begin = 0;
  std::int64_t end = window_.kernel[axis];
  if (outside_ == Outside::leave_out) {
    // Only taps inside the image are walked, so that a huge window over a small image takes no time.
    begin = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    end = start >= size ? 0 : std::min(end, (size - 1 - start) / dilation + 1);
  }
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t at = start + k * dilation;
    Tap next = tap;
    next.is_inside = tap.is_inside && at >= 0 && at < size;
    next.image = tap.image + (next.is_inside ? at * image_.strides[axis] : 0);
    next.kernel = tap.kernel * window_.kernel[axis] + k;
    add_axis(axis + 1, next);
  }
}

Problem check_covers(const Window& window, std::span<const Dim> input_sizes) {
  for (std::size_t i = 0; i < input_sizes.size(); ++i) {
    const Dim extent = window.extent(static_cast<int>(i));
    const std::string axis = " (spatial axis " + std::to_string(i) + ")";
    if (input_sizes[i] < 1) return shape_error("x", "an empty image" + axis, "at least one position");
    for (const Dim& pad : {window.pad_begin[i], window.pad_end[i]}) {
      if (pad >= extent)
        return shape_error("padding", to_string(pad) + axis,
                           "less than the window's " + to_string(extent) + " positions");
    }
    const bool may_step_over = window.kernel[i] > 1 && window.dilations[i] > input_sizes[i];
    if (may_step_over)
      return shape_error("dilations", std::to_string(window.dilations[i]) + axis,
                         "at most the image's size " + to_string(input_sizes[i]));
  }
  return std::nullopt;
}

Result<std::vector<Dim>> pool_dims(const Window& window, const OpenShape& x, Layout layout, Rounding rounding) {
  ImageExtents image = ImageExtents::of(x, layout);
  auto sizes = output_sizes(window, image.sizes, rounding);
  if (!sizes) return std::move(sizes).errors();
  // A window may be larger than the image, but not than what can be counted.
  if (!checked_elements(window.kernel)) {
    return shape_error("kernel", "a window of " + OpenShape(window.kernel).to_string(),
                       "at most " + std::to_string(kMaxElements) + " positions");
  }
  // Of no images there is nothing to cover.
  if (auto problem = is_zero(image.batch) ? std::nullopt : check_covers(window, image.sizes)) return *problem;
  image.sizes = *std::move(sizes);
  return image.dims(layout);
}

Problem check_conv(const ConvShapes& conv, const OpenShape& x, const OpenShape& w) {
  if (x.rank() < 3) return shape_error("x", "rank " + std::to_string(x.rank()), "at least 3");
  if (w.rank() != x.rank())
    return shape_error("w", "rank " + std::to_string(w.rank()), "that of x, " + std::to_string(x.rank()));
  // An empty kernel could claim any size without the memory to show for it.
  if (w.elements() == 0) return shape_error("w", "shape " + w.to_string(), "at least one element");
  const ImageExtents image = ImageExtents::of(x, conv.layout), kernel = ImageExtents::of(w, conv.layout);
  if (auto problem = check_window(conv.window, image.sizes.size())) return problem;
  if (!std::equal(kernel.sizes.begin(), kernel.sizes.end(), conv.window.kernel.begin(), conv.window.kernel.end()))
    return shape_error("w", "shape " + w.to_string(), "a kernel of " + OpenShape(conv.window.kernel).to_string());
  const std::int64_t results = kernel.batch;
  if (auto problem = check_range("groups", conv.groups, 1, std::max<std::int64_t>(1, results))) return problem;
  // Before anything reads an example of open channels: the weights say how many there are.
  const Dim demanded = kernel.channels * conv.groups;
  if (!image.channels.is_number() && image.channels != demanded)
    return shape_error("w", to_string(demanded) + " channels", to_string(image.channels));
  const std::int64_t channels = image.channels;
  if (results % conv.groups != 0 || channels % conv.groups != 0) {
    return shape_error("groups", std::to_string(conv.groups),
                       "a divisor of " + std::to_string(channels) + " and " + std::to_string(results) + " channels");
  }
  if (kernel.channels != channels / conv.groups) {
    return shape_error("w", to_string(kernel.channels) + " channels per group",
                       std::to_string(channels / conv.groups) + " (x has " + std::to_string(channels) + " in " +
                           std::to_string(conv.groups) + " groups)");
  }
  return std::nullopt;
}

Result<std::vector<Dim>> conv_dims(const ConvShapes& conv, const OpenShape& x, const OpenShape& w) {
  if (auto problem = check_conv(conv, x, w)) return *problem;
  ImageExtents image = ImageExtents::of(x, conv.layout);
  auto sizes = output_sizes(conv.window, image.sizes, Rounding::floor);
  if (!sizes) return std::move(sizes).errors();
  image.sizes = *std::move(sizes);
  image.channels = w[0];
  return image.dims(conv.layout);
}

}  // namespace octavo
