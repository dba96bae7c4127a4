// The window attributes that convolutions and pools share in ONNX. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_WINDOWS_H_
#define OCTAVO_IMPORT_ONNX_WINDOWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "import/onnx/node_reader.h"
#include "ops/window.h"

namespace octavo::onnx_import {

// strides, dilations, pads and auto_pad for a kernel that slides over these sizes. SAME_* paddings are computed, since
// all sizes are known.
struct ReadWindow {
  Window window;
  bool rounds_down = false;  // auto_pad fixes the output sizes: ceil_mode changes nothing
};
ReadWindow read_window(NodeReader& in, const std::vector<std::int64_t>& kernel, std::span<const std::int64_t> sizes);

// The kernel of a convolution: that of the weights, which kernel_shape must repeat where it is given.
std::vector<std::int64_t> read_kernel(NodeReader& in, std::span<const std::int64_t> weight_sizes);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_WINDOWS_H_
