// resize: interpolation on any axes. Part of ops/.
#ifndef OCTAVO_OPS_RESIZE_RESIZE_H_
#define OCTAVO_OPS_RESIZE_RESIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// How to interpolate. Numbers are part of the artifact format.
enum class ResizeMode : std::uint8_t { nearest = 0, linear = 1, cubic = 2 };
constexpr int count_of(ResizeMode) { return 3; }
constexpr std::string_view name_of(ResizeMode value) {
  constexpr std::string_view names[] = {"nearest", "linear", "cubic"};
  return names[static_cast<int>(value)];
}

// Where an output position lies in the input. Numbers are part of the artifact format.
enum class ResizeCoordinates : std::uint8_t {
  half_pixel = 0,
  half_pixel_symmetric = 1,
  pytorch_half_pixel = 2,
  align_corners = 3,
  asymmetric = 4,
  tf_crop_and_resize = 5
};
constexpr int count_of(ResizeCoordinates) { return 6; }
constexpr std::string_view name_of(ResizeCoordinates value) {
  constexpr std::string_view names[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                        "align_corners", "asymmetric",           "tf_crop_and_resize"};
  return names[static_cast<int>(value)];
}

// Which neighbour. Numbers are part of the artifact format.
enum class NearestRounding : std::uint8_t { round_prefer_floor = 0, round_prefer_ceil = 1, floor = 2, ceil = 3 };
constexpr int count_of(NearestRounding) { return 4; }
constexpr std::string_view name_of(NearestRounding value) {
  constexpr std::string_view names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  return names[static_cast<int>(value)];
}

struct ResizeAttrs {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  NearestRounding nearest = NearestRounding::round_prefer_floor;
  std::vector<Dim> sizes;     // of the result, one per axis
  std::vector<float> scales;  // one per axis: the factor of the coordinate formula; 0: size of the result over size
  std::vector<float> roi;     // tf_crop_and_resize only: starts, then ends
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation_value = 0.0f;

  bool operator==(const ResizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"mode", &ResizeAttrs::mode}, Field{"coordinates", &ResizeAttrs::coordinates},
                      Field{"nearest", &ResizeAttrs::nearest}, Field{"sizes", &ResizeAttrs::sizes},
                      Field{"scales", &ResizeAttrs::scales}, Field{"roi", &ResizeAttrs::roi},
                      Field{"cubic_coefficient", &ResizeAttrs::cubic_coefficient},
                      Field{"exclude_outside", &ResizeAttrs::exclude_outside},
                      Field{"antialias", &ResizeAttrs::antialias},
                      Field{"extrapolation_value", &ResizeAttrs::extrapolation_value});
  }
};

// The meaning of ONNX Resize 19; older versions are expressed by the importer. Any type for nearest, floats and 8-bit
// for the others. Linear without antialiasing is computed in f32: the sum, in row-major order of the taps, of (product
// of the weights, innermost axis first) * x; 8-bit results are truncated. Measured against ONNX Runtime, no difference.
// inputs: x.
extern const OpSpec kResize;

}  // namespace octavo

#endif  // OCTAVO_OPS_RESIZE_RESIZE_H_
