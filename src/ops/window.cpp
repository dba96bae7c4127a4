// Window arithmetic. Part of ops/.
#include "ops/window.h"

namespace octavo {
namespace {

Error window_error(const char* list, std::string found, std::string expected) {
  return shape_error(list, std::move(found), std::move(expected));
}

// Nothing sensible is larger; keeps every product below in 64 bits.
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

std::optional<Error> check_list(const char* name, const std::vector<std::int64_t>& list, std::size_t rank,
                                std::int64_t lowest) {
  if (list.size() != rank) return window_error(name, std::to_string(list.size()) + " entries", std::to_string(rank));
  for (std::int64_t entry : list) {
    if (entry < lowest || entry > kLimit)
      return window_error(name, std::to_string(entry), "at least " + std::to_string(lowest));
  }
  return std::nullopt;
}

}  // namespace

std::int64_t Window::extent(int axis) const {
  const auto i = static_cast<std::size_t>(axis);
  return (kernel[i] - 1) * dilations[i] + 1;
}

Window unit_window(std::vector<std::int64_t> kernel) {
  const std::size_t rank = kernel.size();
  return {.kernel = std::move(kernel),
          .strides = std::vector<std::int64_t>(rank, 1),
          .dilations = std::vector<std::int64_t>(rank, 1),
          .pad_begin = std::vector<std::int64_t>(rank, 0),
          .pad_end = std::vector<std::int64_t>(rank, 0)};
}

Result<std::vector<std::int64_t>> output_sizes(const Window& window, std::span<const std::int64_t> input_sizes,
                                               Rounding rounding) {
  const std::size_t rank = input_sizes.size();
  if (auto error = check_list("kernel", window.kernel, rank, 1)) return *error;
  if (auto error = check_list("strides", window.strides, rank, 1)) return *error;
  if (auto error = check_list("dilations", window.dilations, rank, 1)) return *error;
  if (auto error = check_list("pad_begin", window.pad_begin, rank, 0)) return *error;
  if (auto error = check_list("pad_end", window.pad_end, rank, 0)) return *error;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t padded = input_sizes[i] + window.pad_begin[i] + window.pad_end[i];
    const std::int64_t room = padded - window.extent(static_cast<int>(i));
    if (room < 0) {
      return window_error(
          "kernel", "a window of " + std::to_string(window.extent(static_cast<int>(i))) + " positions",
          "at most " + std::to_string(padded) + " (spatial axis " + std::to_string(i) + " with its padding)");
    }
    const std::int64_t stride = window.strides[i];
    std::int64_t size = room / stride + 1;
    if (rounding == Rounding::ceil && room % stride != 0 && size * stride < input_sizes[i] + window.pad_begin[i])
      ++size;
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace octavo
