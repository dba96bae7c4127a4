// Window: how convolutions and pools slide over the spatial axes; shared by their operators. Part of ops/.
#ifndef OCTAVO_OPS_WINDOW_H_
#define OCTAVO_OPS_WINDOW_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Where the channels of an image tensor are: [N, C, spatial...] or [N, spatial..., C]. Numbers are part of the artifact
// format.
enum class Layout : std::uint8_t { channels_first = 0, channels_last = 1 };
constexpr int count_of(Layout) { return 2; }
constexpr std::string_view name_of(Layout layout) {
  return layout == Layout::channels_first ? "channels_first" : "channels_last";
}

// One entry per spatial axis in each list. Padding is at least 0, strides and dilations at least 1.
struct Window {
  std::vector<Dim> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<Dim> pad_begin;
  std::vector<Dim> pad_end;

  bool operator==(const Window&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kernel", &Window::kernel}, Field{"strides", &Window::strides},
                      Field{"dilations", &Window::dilations}, Field{"pad_begin", &Window::pad_begin},
                      Field{"pad_end", &Window::pad_end});
  }

  int rank() const { return static_cast<int>(kernel.size()); }
  // Positions covered by the dilated kernel along an axis: (kernel - 1) * dilation + 1.
  Dim extent(int axis) const;
};

// Strides and dilations 1, no padding.
Window unit_window(std::vector<Dim> kernel);

enum class Rounding : std::uint8_t { floor = 0, ceil = 1, truncate = 2 };
constexpr int count_of(Rounding) { return 3; }
constexpr std::string_view name_of(Rounding rounding) {
  constexpr std::string_view names[] = {"floor", "ceil", "truncate"};
  return names[static_cast<int>(rounding)];
}

// What is wrong with the window itself over so many spatial axes: the lists' lengths and ranges.
std::optional<Error> check_window(const Window& window, std::size_t rank);

// Checks the window itself and against the spatial sizes; gives the output sizes:
// floor((in + begin + end - extent) / stride) + 1. With `ceil`, a window that would start in the end padding is
// dropped. A window that is larger than the padded image is refused with `floor`. With `ceil` and `truncate`, which
// round the quotient towards 0 then, it sees what there is where it is larger by less than a stride, and there is no
// result where it is larger by less than two. Errors name the list and what was found.
Result<std::vector<Dim>> output_sizes(const Window& window, std::span<const Dim> input_sizes, Rounding rounding);

}  // namespace octavo

#endif  // OCTAVO_OPS_WINDOW_H_
