// Taps of a resize, from ONNX Resize 19. Part of ops/.
#include "ops/resize/taps.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

// What the formulas need of one axis.
struct TapAxis {
  std::int64_t input = 0;
  std::int64_t output = 0;
  float scale = 1.0f;
  float roi_start = 0.0f;
  float roi_end = 0.0f;
};

// Where output position `position` lies in the input. In f32, as ONNX Runtime computes it: ties of `nearest` depend on
// it.
float source_coordinate(ResizeCoordinates coordinates, const TapAxis& axis, std::int64_t position) {
  const auto x = static_cast<float>(position);
  const auto input = static_cast<float>(axis.input);
  const auto output = static_cast<float>(axis.output);
  switch (coordinates) {
    case ResizeCoordinates::half_pixel: return (x + 0.5f) / axis.scale - 0.5f;
    case ResizeCoordinates::half_pixel_symmetric: {
      const float adjustment = output / (axis.scale * input);
      return input / 2.0f * (1.0f - adjustment) + (x + 0.5f) / axis.scale - 0.5f;
    }
    case ResizeCoordinates::pytorch_half_pixel: return axis.output > 1 ? (x + 0.5f) / axis.scale - 0.5f : 0.0f;
    case ResizeCoordinates::align_corners: return axis.output > 1 ? x * (input - 1.0f) / (output - 1.0f) : 0.0f;
    case ResizeCoordinates::asymmetric: return x / axis.scale;
    case ResizeCoordinates::tf_crop_and_resize:
      if (axis.output > 1)
        return axis.roi_start * (input - 1.0f) + x * (axis.roi_end - axis.roi_start) * (input - 1.0f) / (output - 1.0f);
      return 0.5f * (axis.roi_start + axis.roi_end) * (input - 1.0f);
  }
  return 0.0f;
}

double nearest_index(NearestRounding rounding, double x) {
  switch (rounding) {
    case NearestRounding::round_prefer_floor: return std::ceil(x - 0.5);
    case NearestRounding::round_prefer_ceil: return std::floor(x + 0.5);
    case NearestRounding::floor: return std::floor(x);
    case NearestRounding::ceil: return std::ceil(x);
  }
  return 0.0;
}

double cubic_weight(double a, double distance) {
  const double x = std::fabs(distance);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
  return 0.0;
}

// Neighbours base + start ... base + 1 - start of a coordinate base + ratio with ratio in (0, 1]; outside the axis its
// edge counts.
void add_taps(const ResizeAttrs& resize, const TapAxis& axis, double x, std::vector<ResizeTap>& taps) {
  const double base = std::ceil(x) - 1.0;
  const double reach = resize.mode == ResizeMode::linear ? 1.0 : 2.0;
  const double shrink = resize.antialias ? std::min(1.0, static_cast<double>(axis.scale)) : 1.0;
  const double start = std::floor(-reach / shrink) + 1.0;
  const std::size_t first = taps.size();
  double sum = 0.0;
  for (double k = start; k <= 1.0 - start; k += 1.0) {
    const double distance = (base + k - x) * shrink;
    const double at = base + k;
    const bool is_outside = at < 0.0 || at >= static_cast<double>(axis.input);
    double weight = resize.mode == ResizeMode::linear ? std::max(0.0, 1.0 - std::fabs(distance))
                                                      : cubic_weight(resize.cubic_coefficient, distance);
    if (is_outside && resize.exclude_outside) weight = 0.0;
    sum += weight;
    const double clamped = std::clamp(at, 0.0, static_cast<double>(axis.input - 1));
    taps.push_back({static_cast<std::int64_t>(clamped), weight});
  }
  if (!resize.antialias && !resize.exclude_outside) return;
  for (std::size_t i = first; i < taps.size(); ++i) taps[i].weight /= sum;
}

// Linear without antialiasing: the two neighbours of the coordinate clamped into the axis, weights in f32 as ONNX
// Runtime computes them.
void add_linear_taps(const TapAxis& axis, float x, std::vector<ResizeTap>& taps) {
  const float at = std::clamp(x, 0.0f, static_cast<float>(axis.input - 1));
  const std::int64_t first = std::min(static_cast<std::int64_t>(at), axis.input - 1);
  const std::int64_t second = std::min(first + 1, axis.input - 1);
  const bool is_one = first == second;
  taps.push_back({first, is_one ? 0.5f : std::fabs(at - static_cast<float>(second))});
  taps.push_back({second, is_one ? 0.5f : std::fabs(at - static_cast<float>(first))});
}

bool is_identity(const ResizeAttrs& resize, const TapAxis& axis) {
  return axis.input == axis.output && axis.scale == 1.0f && resize.coordinates != ResizeCoordinates::tf_crop_and_resize;
}

}  // namespace

bool is_plain_linear(const ResizeAttrs& resize) {
  return resize.mode == ResizeMode::linear && !resize.antialias && !resize.exclude_outside;
}

AxisTaps AxisTaps::of(const ResizeAttrs& resize, std::int64_t size, int axis_number) {
  const auto i = static_cast<std::size_t>(axis_number);
  TapAxis axis{.input = size, .output = resize.sizes[i], .scale = resize.scales[i]};
  if (axis.scale == 0.0f)
    axis.scale = static_cast<float>(static_cast<double>(axis.output) / static_cast<double>(axis.input));
  const bool is_crop = resize.coordinates == ResizeCoordinates::tf_crop_and_resize;
  if (is_crop) axis.roi_start = resize.roi[i], axis.roi_end = resize.roi[i + resize.sizes.size()];
  AxisTaps result;
  for (std::int64_t position = 0; position < axis.output; ++position) {
    // Clamped so that no conversion to an index overflows, however odd scale and roi are.
    const double x = is_identity(resize, axis)
                         ? static_cast<double>(position)
                         : std::clamp<double>(source_coordinate(resize.coordinates, axis, position), -0x1p40, 0x1p40);
    if (resize.mode == ResizeMode::nearest) {
      const double nearest = std::clamp(nearest_index(resize.nearest, x), 0.0, static_cast<double>(size - 1));
      result.taps_.push_back({static_cast<std::int64_t>(nearest), 1.0});
    } else if (is_identity(resize, axis)) {
      result.taps_.push_back({position, 1.0});
    } else {
      if (is_plain_linear(resize)) add_linear_taps(axis, static_cast<float>(x), result.taps_);
      else add_taps(resize, axis, x, result.taps_);
    }
    result.outside_.push_back(is_crop && (x < 0.0 || x > static_cast<double>(size - 1)));
    result.first_.push_back(result.taps_.size());
  }
  return result;
}

}  // namespace octavo
