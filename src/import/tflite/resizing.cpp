// TFLite readers: resizing of images. Part of import/.
#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

struct Corners {
  bool are_aligned = false;
  bool has_half_pixels = false;
};

ResizeAttrs resize_attrs(OperatorReader& in, ValueId x, Corners corners) {
  const std::vector<std::int64_t> size = in.constant_integers(1, "size");
  in.require_rank("x", x, 4, 4);
  if (in.failed()) return {};
  if (corners.are_aligned && corners.has_half_pixels)
    in.fail("options", "both align_corners and half_pixel_centers", "one of them");
  constexpr std::int64_t kLimit = std::int64_t{1} << 24;
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > kLimit || size[1] > kLimit)
    in.fail("input 'size'", print(size), "height and width");
  const Shape& from = in.shape(x);
  if (from[1] == 0 || from[2] == 0) in.fail("x", "shape " + from.to_string(), "an image with pixels");
  if (in.failed()) return {};
  ResizeAttrs attrs{.sizes = {from[0], size[0], size[1], from[3]}};
  attrs.coordinates = corners.are_aligned       ? ResizeCoordinates::align_corners
                      : corners.has_half_pixels ? ResizeCoordinates::half_pixel
                                                : ResizeCoordinates::asymmetric;
  attrs.scales = {1.0f, static_cast<float>(size[0]) / static_cast<float>(from[1]),
                  static_cast<float>(size[1]) / static_cast<float>(from[2]), 1.0f};
  return attrs;
}

}  // namespace

void read_resize_bilinear(OperatorReader& in) {
  const auto& given = in.required_options<file::ResizeBilinearOptions>();
  const ValueId x = in.operand(0);
  ResizeAttrs attrs = resize_attrs(in, x, {given.align_corners(), given.half_pixel_centers()});
  attrs.mode = ResizeMode::linear;
  in.output(0, in.add(kResize, attrs, {x}));
}

// Half a pixel's centre lies in the pixel after it; otherwise the pixel that a
// position lies in, or the nearest where corners are aligned.
void read_resize_nearest(OperatorReader& in) {
  const auto& given = in.required_options<file::ResizeNearestNeighborOptions>();
  const ValueId x = in.stored(0);
  ResizeAttrs attrs = resize_attrs(in, x, {given.align_corners(), given.half_pixel_centers()});
  attrs.nearest =
      attrs.coordinates == ResizeCoordinates::asymmetric ? NearestRounding::floor : NearestRounding::round_prefer_ceil;
  in.output_stored(0, in.add(kResize, attrs, {x}));
}

}  // namespace octavo::tflite_import
