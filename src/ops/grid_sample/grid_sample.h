// grid_sample: an image read at computed positions. Part of ops/.
#ifndef OCTAVO_OPS_GRID_SAMPLE_GRID_SAMPLE_H_
#define OCTAVO_OPS_GRID_SAMPLE_GRID_SAMPLE_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

// How to interpolate. Numbers are part of the artifact format.
enum class SampleMode : std::uint8_t { nearest = 0, linear = 1, cubic = 2 };
constexpr int count_of(SampleMode) { return 3; }
constexpr std::string_view name_of(SampleMode value) {
  constexpr std::string_view names[] = {"nearest", "linear", "cubic"};
  return names[static_cast<int>(value)];
}

// What is outside the image: 0, its nearest element, or its mirror image. Numbers are part of the artifact format.
enum class SamplePadding : std::uint8_t { zeros = 0, border = 1, reflection = 2 };
constexpr int count_of(SamplePadding) { return 3; }
constexpr std::string_view name_of(SamplePadding value) {
  constexpr std::string_view names[] = {"zeros", "border", "reflection"};
  return names[static_cast<int>(value)];
}

// Where -1 and 1 lie: at the outer edges of the first and the last element, or in their middles; or the numbers count
// elements. Numbers are part of the artifact format.
enum class GridCoordinates : std::uint8_t { edges = 0, middles = 1, elements = 2 };
constexpr int count_of(GridCoordinates) { return 3; }
constexpr std::string_view name_of(GridCoordinates value) {
  constexpr std::string_view names[] = {"edges", "middles", "elements"};
  return names[static_cast<int>(value)];
}

struct GridSampleAttrs {
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;
  GridCoordinates coordinates = GridCoordinates::edges;
  Layout layout = Layout::channels_first;  // of x and y

  bool operator==(const GridSampleAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"mode", &GridSampleAttrs::mode}, Field{"padding", &GridSampleAttrs::padding},
                      Field{"coordinates", &GridSampleAttrs::coordinates}, Field{"layout", &GridSampleAttrs::layout});
  }
};

// x [N, C, spatial] of two or three spatial axes, grid [N, spatial of y, as many coordinates as axes], the innermost
// axis first; f32. y[n, c, p] = x[n, c, grid[n, p]], interpolated in f32 along one axis after the other, the innermost
// one first: sums start at 0 and go from the lowest index on; cubic with the coefficient -0.75. Halves of nearest go to
// the even index. A coordinate that is no number, or beyond 2^24 elements, counts as that far outside. inputs: x, grid.
extern const OpSpec kGridSample;

// What a coordinate reads of an axis: elements and their weights; an index of -1 stands for 0.
struct SampleTaps {
  std::array<std::int64_t, 4> index{};
  std::array<float, 4> weight{};
  int count = 0;
};
// `size` from 1 on.
SampleTaps sample_taps(const GridSampleAttrs& attrs, std::int64_t size, float coordinate);

}  // namespace octavo

#endif  // OCTAVO_OPS_GRID_SAMPLE_GRID_SAMPLE_H_
