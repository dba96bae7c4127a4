// The window attributes that convolutions and pools share in ONNX. Part of import/.
#include "import/onnx/windows.h"

#include <algorithm>

#include "base/fields.h"

namespace octavo::onnx_import {
namespace {

// Nothing sensible is larger; keeps the sums below in 64 bits.
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

bool check_list(NodeReader& in, std::string_view name, const std::vector<std::int64_t>& list, std::size_t size,
                std::int64_t lowest) {
  const bool is_good = list.size() == size && std::all_of(list.begin(), list.end(),
                                                          [&](std::int64_t i) { return i >= lowest && i <= kLimit; });
  if (!is_good)
    in.fail("attribute '" + std::string(name) + "'", print(list),
            std::to_string(size) + " numbers from " + std::to_string(lowest) + " on");
  return is_good;
}

// So much padding that ceil(size / stride) windows fit; an odd rest goes to the end (upper) or to the beginning
// (lower).
void pad_same(Window& window, std::span<const std::int64_t> sizes, bool is_upper) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t count = (sizes[i] + window.strides[i] - 1) / window.strides[i];
    const std::int64_t covered = (count - 1) * window.strides[i] + window.extent(static_cast<int>(i));
    const std::int64_t total = std::max<std::int64_t>(0, covered - sizes[i]);
    window.pad_begin[i] = is_upper ? total / 2 : total - total / 2;
    window.pad_end[i] = total - window.pad_begin[i];
  }
}

}  // namespace

ReadWindow read_window(NodeReader& in, const std::vector<std::int64_t>& kernel, std::span<const std::int64_t> sizes) {
  const std::size_t rank = sizes.size();
  const auto& attributes = in.attributes;
  const bool has_pads = attributes.has("pads");
  Window window = unit_window(kernel);
  window.strides = in.attributes.integers("strides", window.strides);
  window.dilations = in.attributes.integers("dilations", window.dilations);
  const std::vector<std::int64_t> pads = in.attributes.integers("pads", std::vector<std::int64_t>(2 * rank, 0));
  const std::string mode = in.attributes.text("auto_pad", "NOTSET");
  if (in.failed()) return {unit_window(kernel)};
  const bool are_good =
      check_list(in, "kernel_shape", kernel, rank, 1) && check_list(in, "strides", window.strides, rank, 1) &&
      check_list(in, "dilations", window.dilations, rank, 1) && check_list(in, "pads", pads, 2 * rank, 0);
  if (!are_good) return {unit_window(kernel)};
  if (mode == "NOTSET") {
    window.pad_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    window.pad_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
    return {window};
  }
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    in.fail("attribute 'auto_pad'", "'" + mode + "'", "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  } else if (has_pads && std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; })) {
    in.fail("attribute 'pads'", print(pads) + " beside auto_pad " + mode, "no pads");
  } else if (mode != "VALID") {
    pad_same(window, sizes, mode == "SAME_UPPER");
  }
  return {window, true};
}

std::vector<std::int64_t> read_kernel(NodeReader& in, std::span<const std::int64_t> weight_sizes) {
  const std::vector<std::int64_t> own(weight_sizes.begin(), weight_sizes.end());
  const std::vector<std::int64_t> given = in.attributes.integers("kernel_shape", own);
  if (!in.failed() && given != own)
    in.fail("attribute 'kernel_shape'", print(given), print(own) + ", the sizes of the weights");
  return own;
}

}  // namespace octavo::onnx_import
