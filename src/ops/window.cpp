// Window arithmetic. Part of ops/.
#include "ops/window.h"

namespace octavo {
namespace {

Error window_error(const char* list, std::string found, std::string expected) {
  return shape_error(list, std::move(found), std::move(expected));
}

// Nothing sensible is larger; keeps every product below in 64 bits.
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

template <class Entry>
std::optional<Error> check_list(const char* name, const std::vector<Entry>& list, std::size_t rank,
                                std::int64_t lowest) {
  if (list.size() != rank) return window_error(name, std::to_string(list.size()) + " entries", std::to_string(rank));
  for (const Entry& entry : list) {
    if (entry < lowest || entry > kLimit)
      return window_error(name, to_string(Dim(entry)), "at least " + std::to_string(lowest));
  }
  return std::nullopt;
}

}  // namespace

Dim Window::extent(int axis) const {
  const auto i = static_cast<std::size_t>(axis);
  return (kernel[i] - 1) * dilations[i] + 1;
}

Window unit_window(std::vector<Dim> kernel) {
  const std::size_t rank = kernel.size();
  return {.kernel = std::move(kernel),
          .strides = std::vector<std::int64_t>(rank, 1),
          .dilations = std::vector<std::int64_t>(rank, 1),
          .pad_begin = std::vector<Dim>(rank, 0),
          .pad_end = std::vector<Dim>(rank, 0)};
}

std::optional<Error> check_window(const Window& window, std::size_t rank) {
  if (auto error = check_list("kernel", window.kernel, rank, 1)) return error;
  if (auto error = check_list("strides", window.strides, rank, 1)) return error;
  if (auto error = check_list("dilations", window.dilations, rank, 1)) return error;
  if (auto error = check_list("pad_begin", window.pad_begin, rank, 0)) return error;
  return check_list("pad_end", window.pad_end, rank, 0);
}

Result<std::vector<Dim>> output_sizes(const Window& window, std::span<const Dim> input_sizes, Rounding rounding) {
  const std::size_t rank = input_sizes.size();
  if (auto error = check_window(window, rank)) return *error;
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim padded = input_sizes[i] + window.pad_begin[i] + window.pad_end[i];
    Dim room = padded - window.extent(static_cast<int>(i));
    const std::int64_t stride = window.strides[i];
    const bool is_beyond = room < 0;
    if (is_beyond) room += stride - 1;  // so that the quotient is rounded towards 0
    if (is_beyond && (rounding == Rounding::floor || room + stride < 0)) {
      return window_error(
          "kernel", "a window of " + to_string(window.extent(static_cast<int>(i))) + " positions",
          "at most " + to_string(padded) + " (spatial axis " + std::to_string(i) + " with its padding)");
    }
    const Dim size = room / stride + 1;
    if (rounding != Rounding::ceil || is_beyond) {
      sizes.push_back(size);
      continue;
    }
    const Dim starts = (input_sizes[i] + window.pad_begin[i] - 1) / stride + 1;  // before the end padding
    sizes.push_back(larger(size, smaller((room + stride - 1) / stride + 1, starts)));
  }
  return sizes;
}

}  // namespace octavo
