// roi_align: regions of images, pooled to one size. Part of ops/.
#ifndef OCTAVO_OPS_ROI_ALIGN_ROI_ALIGN_H_
#define OCTAVO_OPS_ROI_ALIGN_ROI_ALIGN_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

// What becomes of the samples of a bin. Numbers are part of the artifact format.
enum class RoiPooling : std::uint8_t { average = 0, max = 1 };
constexpr int count_of(RoiPooling) { return 2; }
constexpr std::string_view name_of(RoiPooling value) {
  constexpr std::string_view names[] = {"average", "max"};
  return names[static_cast<int>(value)];
}

struct RoiAlignAttrs {
  RoiPooling pooling = RoiPooling::average;
  std::int64_t height = 1, width = 1;  // of the result
  std::int64_t samples = 0;            // of a bin, along each axis; 0: ceil(size of the region / size of the result)
  float scale = 1.0f;                  // of the regions
  bool is_half_pixel = true;  // pixels are points in the middle of their squares; false: regions have a size of 1
  Layout layout = Layout::channels_first;  // of x and y

  bool operator==(const RoiAlignAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"pooling", &RoiAlignAttrs::pooling}, Field{"height", &RoiAlignAttrs::height},
                      Field{"width", &RoiAlignAttrs::width}, Field{"samples", &RoiAlignAttrs::samples},
                      Field{"scale", &RoiAlignAttrs::scale}, Field{"is_half_pixel", &RoiAlignAttrs::is_half_pixel},
                      Field{"layout", &RoiAlignAttrs::layout});
  }
};

// x [N, C, H, W], regions [R, 4] (x1, y1, x2, y2) in f32, images [R] in s64, clamped into [0, N): y [R, C, height,
// width]. A bin is the mean, or the largest, of samples at regular distances. A sample is w0 * x0 + w1 * x1 + w2 * x2 +
// w3 * x3 of the four elements around it (0 outside the image); of max, the largest of these products. In f32, samples
// in row-major order. At most kMostRoiSamples samples of a bin along an axis. inputs: x, regions, images.
extern const OpSpec kRoiAlign;

inline constexpr std::int64_t kMostRoiSamples = 256;

// Where the samples of a region lie.
struct RoiGrid {
  float start[2] = {}, bin[2] = {};  // of height and width, in elements of x
  std::int64_t samples[2] = {1, 1};

  static RoiGrid of(const RoiAlignAttrs& attrs, const float* region);
};
// The four elements around a sample, as rows and columns of x, and their weights; none outside the image.
struct RoiSample {
  bool is_inside = false;
  std::array<std::int64_t, 2> rows{}, columns{};
  std::array<float, 4> weights{};  // of [row][column]
};
// Sample [iy, ix] of bin [oh, ow].
struct RoiPlace {
  std::int64_t oh, ow, iy, ix;
};
RoiSample roi_sample(const RoiGrid& grid, const RoiPlace& at, std::int64_t height, std::int64_t width);

}  // namespace octavo

#endif  // OCTAVO_OPS_ROI_ALIGN_ROI_ALIGN_H_
