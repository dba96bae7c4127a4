// ONNX readers: images read at computed positions, and elements put where others were taken from. Part of import/.
#include <algorithm>
#include <array>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "import/rare_verbs.h"
#include "ops/conv/conv.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/roi_align/roi_align.h"
#include "ops/scatter_nd/scatter_nd.h"

namespace octavo::onnx_import {
namespace {

// The value that the attribute names.
template <class Value, std::size_t n>
Value one_of(NodeReader& in, std::string_view attribute, const std::pair<std::string_view, Value> (&names)[n]) {
  const std::string name = in.text(attribute, std::string(names[0].first));
  std::string expected;
  for (const auto& [known, value] : names) {
    if (known == name) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(known);
  }
  in.fail(quoted("attribute", attribute), "'" + name + "'", "one of " + expected);
  return names[0].second;
}

// ---- positions in images ----

ValueId read_grid_sample(NodeReader& in) {
  constexpr std::pair<std::string_view, SampleMode> kModes[] = {{"linear", SampleMode::linear},
                                                                {"bilinear", SampleMode::linear},
                                                                {"nearest", SampleMode::nearest},
                                                                {"cubic", SampleMode::cubic},
                                                                {"bicubic", SampleMode::cubic}};
  constexpr std::pair<std::string_view, SamplePadding> kPaddings[] = {
      {"zeros", SamplePadding::zeros}, {"border", SamplePadding::border}, {"reflection", SamplePadding::reflection}};
  const GridSampleAttrs attrs{
      .mode = one_of(in, "mode", kModes),
      .padding = one_of(in, "padding_mode", kPaddings),
      .coordinates = in.flag("align_corners") ? GridCoordinates::middles : GridCoordinates::edges};
  return in.add(kGridSample, attrs, {in.value(0, "X"), in.value(1, "grid")});
}

ValueId read_roi_align(NodeReader& in) {
  constexpr std::pair<std::string_view, RoiPooling> kModes[] = {{"avg", RoiPooling::average}, {"max", RoiPooling::max}};
  constexpr std::pair<std::string_view, bool> kCoordinates[] = {{"half_pixel", true}, {"output_half_pixel", false}};
  const RoiAlignAttrs attrs{
      .pooling = one_of(in, "mode", kModes),
      .height = in.integer("output_height", 1),
      .width = in.integer("output_width", 1),
      .samples = in.integer("sampling_ratio", 0),
      .scale = in.number("spatial_scale", 1.0f),
      .is_half_pixel = in.opset() >= 16 && one_of(in, "coordinate_transformation_mode", kCoordinates)};
  return in.add(kRoiAlign, attrs, {in.value(0, "X"), in.value(1, "rois"), in.value(2, "batch_indices")});
}

// Of each tap and position of the result, where it would be without an offset: x, then y.
Tensor undeformed(const Window& window, std::int64_t height, std::int64_t width) {
  const std::int64_t rows = window.kernel[0].fixed(), columns = window.kernel[1].fixed();
  const std::int64_t top = window.pad_begin[0].fixed(), left = window.pad_begin[1].fixed();
  Tensor places(DType::f32, Shape{rows * columns, height, width, 2});
  float* to = places.as<float>();
  for (std::int64_t tap = 0; tap < rows * columns; ++tap) {
    for (std::int64_t oh = 0; oh < height; ++oh) {
      for (std::int64_t ow = 0; ow < width; ++ow) {
        *to++ = static_cast<float>(ow * window.strides[1] - left + tap % columns * window.dilations[1]);
        *to++ = static_cast<float>(oh * window.strides[0] - top + tap / columns * window.dilations[0]);
      }
    }
  }
  return places;
}

// What a deformed window reads of x, [N, C * taps, height, width]: so the convolution is one of single pixels.
struct Deformed {
  ValueId x, offset, mask;
  Window window;
  std::int64_t groups = 1;  // of channels that share their offsets
};
ValueId deformed_windows(NodeReader& in, const Deformed& args) {
  const OpenShape x = in.shape(args.x), offset = in.shape(args.offset);
  const std::int64_t taps = args.window.kernel[0].fixed() * args.window.kernel[1].fixed();
  const std::int64_t height = offset[2].fixed(), width = offset[3].fixed();
  const Dim images = x[0] * args.groups, channels = x[1] / args.groups;
  const ValueId parts = in.reshape(args.offset, {images, taps, 2, height, width}, "offsets");
  const ValueId turned = transpose(in, parts, Integers{0, 1, 3, 4, 2}, "offsets.turned");
  if (in.failed()) return {};
  std::vector<Range> ranges = whole(in.shape(turned));
  ranges[4] = range_of_slice(2, kFar, -kFar, -1);
  const ValueId places = in.binary(BinaryKind::add, slice(in, turned, ranges, "offsets.flipped"),
                                   in.constant(undeformed(args.window, height, width), "places"), "grid");
  const ValueId image = in.reshape(args.x, {images, channels, x[2], x[3]}, "groups");
  const ValueId read = in.add(kGridSample, GridSampleAttrs{.coordinates = GridCoordinates::elements},
                              {image, in.reshape(places, {images, taps * height, width, 2}, "positions")}, "samples");
  const Extents dims{x[0], x[1] * taps, height, width};
  if (!args.mask.exists()) return in.reshape(read, dims, "windows");
  const ValueId mask = in.reshape(args.mask, {images, 1, taps * height, width}, "masks");
  return in.reshape(in.binary(BinaryKind::mul, read, mask, "masked"), dims, "windows");
}

ValueId read_deform_conv(NodeReader& in) {
  const ValueId x = in.value(0, "X"), w = in.value(1, "W"), offset = in.value(2, "offset");
  const ValueId bias = in.optional(3), mask = in.optional(4);
  const ConvArgs conv = read_conv_args(in, x, w, bias);
  const Number groups = in.integer("offset_group", 1);
  in.require_rank(x, 4, 4);
  in.require_rank(offset, 4, 4);
  const Window window = conv_window(in, conv);
  if (in.failed()) return {};
  const OpenShape image = in.shape(x), weights = in.shape(w);
  if (groups < 1 || image[1].fixed() % groups.value != 0)
    return in.fail(groups.place, std::to_string(groups.value), "a divisor of " + to_string(image[1]));
  const Dim taps = weights[2] * weights[3];
  const auto sizes = output_sizes(window, image.dims().subspan(2), Rounding::floor);
  if (!sizes) return in.fail("", "a window that does not fit", to_string(sizes.errors()));
  if (taps * (*sizes)[0] * (*sizes)[1] > kMostPlaces)
    return in.unsupported("input 'X'", "an image of shape " + image.to_string() + " under " + to_string(taps) + " taps",
                          "at most " + std::to_string(kMostPlaces) + " places");
  const auto check = [&](ValueId value, const Dim& numbers) {
    const OpenShape expected{image[0], numbers * groups.value * taps, (*sizes)[0], (*sizes)[1]};
    if (!is_same(in.shape(value), expected))
      in.fail(in.place_of(value), "shape " + in.shape(value).to_string(), expected.to_string());
  };
  check(in.placed(offset, "input 'offset'"), 2);
  if (mask.exists()) check(in.placed(mask, "input 'mask'"), 1);
  if (in.failed()) return {};
  const ValueId windows = deformed_windows(in, {x, offset, mask, window, groups});
  const ValueId flat = in.reshape(w, {weights[0], weights[1] * taps, 1, 1}, "weights");
  return in.add(kConv, ConvAttrs{.window = unit_window({1, 1}), .groups = conv.groups}, {windows, flat, bias});
}

// ---- elements put back ----

// A tensor of zeros with the type of x.
ValueId zeros(NodeReader& in, ValueId x, const Extents& dims) {
  return expand(in, in.scalar_like(x, 0.0, "zero"), dims, "zeros");
}

// The values that the windows of a MaxPool had, where they were; 0 elsewhere.
ValueId read_max_unpool(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1);
  const Numbers wanted = in.has(2) ? in.constant_integers(2, "output_shape") : Numbers();
  const WindowArgs window = read_window(in);
  in.require_rank(x, 3, kMaxRank);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(x);
  const auto rank = static_cast<std::size_t>(shape.rank()), spatial = rank - 2;
  const auto is_list = [&](const Numbers& list, std::size_t size) { return list.empty() || list.size() == size; };
  if (window.kernel.size() != spatial || !is_list(window.strides, spatial) || !is_list(window.pads, 2 * spatial))
    return in.fail("attributes 'kernel_shape', 'strides' and 'pads'", "lists of other lengths",
                   "numbers for each of " + std::to_string(spatial) + " axes");
  Extents dims{shape[0], shape[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dim stride = window.strides.empty() ? Dim(1) : window.strides[i];
    const Dim cut = window.pads.empty() ? Dim(0) : window.pads[i] + window.pads[i + spatial];
    const Dim size = (shape[static_cast<int>(i) + 2] - 1) * stride + window.kernel[i] - cut;
    if (size < 0 || stride < 1) return in.fail("", "a window of which no image can come", "another one");
    dims.push_back(size);
  }
  const Dim count = shape.elements();
  Dim total = 1;
  for (const Dim& dim : dims) total = total * dim;
  const ValueId flat =
      in.add(kScatterNd, ScatterNdAttrs{},
             {zeros(in, x, {total}), in.reshape(indices, {count, 1}, "places"), in.reshape(x, {count}, "values")},
             "scattered");
  const ValueId image = in.reshape(flat, dims, wanted.empty() ? "" : "image");
  if (wanted.empty() || in.failed()) return image;
  if (wanted.size() != rank) return in.fail(wanted.place, print(wanted.values), std::to_string(rank) + " sizes");
  PadArgs padding{.x = image, .begin = Extents(rank, 0)};
  for (std::size_t i = 0; i < rank; ++i) padding.end.values.push_back(wanted[i] - dims[i]);
  return pad(in, padding);
}

ValueId read_col2im(NodeReader& in) {
  Col2ImArgs args{.x = in.value(0),
                  .image = in.constant_integers(1, "image_shape"),
                  .block = in.constant_integers(2, "block_shape")};
  const std::size_t rank = args.image.size();
  args.strides = in.integers("strides", Integers(rank, 1));
  args.dilations = in.integers("dilations", Integers(rank, 1));
  args.pads = in.integers("pads", Integers(2 * rank, 0));
  return col2im(in, args);
}

constexpr Operator kSampledTable[] = {
    {"Col2Im", 18, 3, 3, read_col2im},          {"DeformConv", 19, 3, 5, read_deform_conv},
    {"GridSample", 16, 2, 2, read_grid_sample}, {"MaxUnpool", 9, 2, 3, read_max_unpool},
    {"RoiAlign", 10, 3, 3, read_roi_align},
};

}  // namespace

const std::span<const Operator> kSampling = kSampledTable;

}  // namespace octavo::onnx_import
