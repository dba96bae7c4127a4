// ATen readers: upsampling of images. Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

// scales_h and scales_w, or a list of both; zeros where they are not given.
std::vector<double> read_scales(NodeReader& in) {
  if (!in.has("scale_factors")) return {in.number("scales_h", 0.0), in.number("scales_w", 0.0)};
  return in.numbers("scale_factors");
}

}  // namespace

void read_upsample(NodeReader& in) {
  const bool is_linear = base_name(in.target()) == "upsample_bilinear2d";
  const ValueId x = in.value(in.has("input") ? "input" : "self");
  const bool aligns = is_linear && in.flag("align_corners", false);
  std::vector<std::int64_t> sizes = in.integers("output_size");
  const std::vector<double> scales = read_scales(in);
  in.require_rank("input", x, 4, 4);
  if (in.failed()) return;
  ResizeAttrs attrs{.mode = is_linear ? ResizeMode::linear : ResizeMode::nearest,
                    .coordinates = !is_linear ? ResizeCoordinates::asymmetric
                                   : aligns   ? ResizeCoordinates::align_corners
                                              : ResizeCoordinates::half_pixel,
                    .nearest = NearestRounding::floor,
                    .sizes = in.shape(x).to_vector(),
                    .scales = {1.0f, 1.0f, 1.0f, 1.0f}};
  if ((sizes.size() != 2 && !sizes.empty()) || scales.size() != 2)
    return in.fail("argument 'output_size'", print(sizes), "2 sizes, or 2 scales");
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t given = in.shape(x)[static_cast<int>(i) + 2];
    const double wanted =
        sizes.empty() ? std::floor(static_cast<double>(given) * scales[i]) : static_cast<double>(sizes[i]);
    if (given < 1 || !(wanted >= 1.0 && wanted <= static_cast<double>(kMaxElements))) {
      return in.fail("argument 'output_size'", print(sizes), "sizes above 0 for an image that is not empty");
    }
    attrs.sizes[i + 2] = static_cast<std::int64_t>(wanted);
    // A scale that is given is used as it is, else that of the sizes.
    attrs.scales[i + 2] = static_cast<float>(scales[i] > 0.0 ? scales[i] : wanted / static_cast<double>(given));
  }
  in.output(0, in.add(kResize, attrs, {x}));
}

}  // namespace octavo::pt2_import
