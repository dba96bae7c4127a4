// Windows of convolutions and pools. Part of import/.
#include <algorithm>

#include "import/tflite/parts.h"

namespace octavo::tflite_import {
namespace {

constexpr int kSame = 0, kValid = 1;

void check_positive(OperatorReader& in, std::string_view what, Pair pair) {
  if (pair.h < 1 || pair.w < 1)
    in.fail(what, std::to_string(pair.h) + "x" + std::to_string(pair.w), "at least 1 in each direction");
}

}  // namespace

std::int64_t same_padding(std::int64_t size, std::int64_t stride, std::int64_t extent) {
  const std::int64_t count = (size + stride - 1) / stride;
  return std::max<std::int64_t>(0, (count - 1) * stride + extent - size);
}

Window read_window(OperatorReader& in, const Shape& image, Pair kernel, const WindowOptions& options) {
  Window window = unit_window({std::max<std::int64_t>(kernel.h, 1), std::max<std::int64_t>(kernel.w, 1)});
  check_positive(in, "kernel", kernel);
  check_positive(in, "strides", options.stride);
  check_positive(in, "dilations", options.dilation);
  if (options.padding != kSame && options.padding != kValid)
    in.fail("padding", std::to_string(options.padding), "SAME (0) or VALID (1)");
  if (in.failed()) return window;
  window.strides = {options.stride.h, options.stride.w};
  window.dilations = {options.dilation.h, options.dilation.w};
  if (options.padding == kValid) return window;
  // An odd rest goes to the end.
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t total = same_padding(image[axis + 1], window.strides[i], window.extent(axis));
    window.pad_begin[i] = total / 2;
    window.pad_end[i] = total - total / 2;
  }
  return window;
}

}  // namespace octavo::tflite_import
