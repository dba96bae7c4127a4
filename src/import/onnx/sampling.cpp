// ONNX readers: images read at computed positions, and elements put where others were taken from. Part of import/.
#include <algorithm>
#include <array>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/conv/conv.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/roi_align/roi_align.h"
#include "ops/scatter_nd/scatter_nd.h"

namespace octavo::onnx_import {
namespace {

// Elements of a constant that a reader makes: a file says little to ask for many.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 25;

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

// Windows over an image: how many there are along each axis.
struct Blocks {
  Integers image, block, strides, dilations, pads, counts;

  std::int64_t padded(std::size_t axis) const { return image[axis] + pads[axis] + pads[axis + image.size()]; }
};

std::int64_t product(const Integers& numbers) {
  std::int64_t result = 1;
  for (const std::int64_t number : numbers) result *= number;
  return result;
}

Blocks read_sampled_blocks(NodeReader& in, const Numbers& image, const Numbers& block) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const std::size_t rank = image.size();
  Blocks blocks{.image = image,
                .block = block,
                .strides = in.integers("strides", Integers(rank, 1)),
                .dilations = in.integers("dilations", Integers(rank, 1)),
                .pads = in.integers("pads", Integers(2 * rank, 0))};
  const auto check = [&](const Integers& list, std::string_view name, std::size_t size, std::int64_t lowest) {
    const bool is_good = std::all_of(list.begin(), list.end(), [&](auto n) { return n >= lowest && n < kMost; });
    if (list.size() != size || !is_good)
      in.fail(name, print(list), std::to_string(size) + " numbers from " + std::to_string(lowest) + " on");
  };
  check(blocks.image, "input 'image_shape'", rank, 1);
  check(blocks.block, "input 'block_shape'", rank, 1);
  check(blocks.strides, "attribute 'strides'", rank, 1);
  check(blocks.dilations, "attribute 'dilations'", rank, 1);
  check(blocks.pads, "attribute 'pads'", 2 * rank, 0);
  for (std::size_t i = 0; i < rank && !in.failed(); ++i) {
    const std::int64_t room = blocks.padded(i) - 1;
    if ((blocks.block[i] - 1) > room / blocks.dilations[i])
      in.fail("input 'block_shape'", print(blocks.block), "blocks that fit into " + print(blocks.image));
    else blocks.counts.push_back((room - blocks.dilations[i] * (blocks.block[i] - 1)) / blocks.strides[i] + 1);
  }
  return blocks;
}

// Of each tap of each block the number of its element in the padded image.
Tensor places_of(const Blocks& blocks) {
  Integers places{0};
  const auto widen = [&](std::size_t axis, std::int64_t count, std::int64_t step) {
    std::int64_t behind = 1;
    for (std::size_t i = axis + 1; i < blocks.image.size(); ++i) behind *= blocks.padded(i);
    Integers more;
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < count; ++i) more.push_back(place + i * step * behind);
    }
    places = std::move(more);
  };
  for (std::size_t i = 0; i < blocks.image.size(); ++i) widen(i, blocks.block[i], blocks.dilations[i]);
  for (std::size_t i = 0; i < blocks.image.size(); ++i) widen(i, blocks.counts[i], blocks.strides[i]);
  const auto count = static_cast<std::int64_t>(places.size());
  return Tensor::of<std::int64_t>(Shape{count, 1}, places);
}

ValueId read_col2im(NodeReader& in) {
  const ValueId x = in.value(0);
  const Numbers image = in.constant_integers(1, "image_shape"), block = in.constant_integers(2, "block_shape");
  in.require_rank(x, 3, 3);
  if (in.failed()) return {};
  const Blocks blocks = read_sampled_blocks(in, image, block);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(x);
  // Products of numbers that a file may make as large as it likes, in f64 first.
  const auto fits = [](const Integers& list, const Dim& size) {
    double all = 1.0;
    for (const std::int64_t number : list) all *= static_cast<double>(number);
    return all <= static_cast<double>(size.fixed()) && size.fixed() % std::max<std::int64_t>(1, product(list)) == 0;
  };
  if (!fits(blocks.block, shape[1]) || !fits(blocks.counts, shape[2]) || product(blocks.counts) != shape[2].fixed())
    return in.fail(in.place_of(x), "shape " + shape.to_string(),
                   "[N, C * " + print(blocks.block) + ", " + print(blocks.counts) + "], multiplied out");
  const std::int64_t taps = product(blocks.block);
  if (shape[2] * taps > kMostPlaces)
    return in.unsupported(in.place_of(x), "shape " + shape.to_string(),
                          "at most " + std::to_string(kMostPlaces) + " places in the image");
  const Dim channels = shape[1] / taps, planes = shape[0] * channels;
  Extents dims{shape[0], channels};
  Dim padded = 1;
  for (std::size_t i = 0; i < blocks.image.size(); ++i) {
    dims.push_back(blocks.padded(i));
    padded = padded * blocks.padded(i);
  }
  if (padded > kMaxElements) return in.fail("input 'image_shape'", print(blocks.image), "an image of fewer elements");
  const ValueId turned = transpose(in, in.reshape(x, {planes, shape[2] * taps}, "planes"), Integers{1, 0}, "columns");
  const ValueId sums =
      in.add(kScatterNd, ScatterNdAttrs{ScatterKind::add},
             {zeros(in, x, {padded, planes}), in.constant(places_of(blocks), "places"), turned}, "sums");
  const ValueId whole_image = in.reshape(transpose(in, sums, Integers{1, 0}, "images"), dims, "padded");
  if (in.failed()) return {};
  std::vector<Range> ranges = whole(in.shape(whole_image));
  for (std::size_t i = 0; i < blocks.image.size(); ++i)
    ranges[i + 2] = {.start = blocks.pads[i], .size = blocks.image[i]};
  return slice(in, whole_image, ranges);
}

constexpr Operator kSampledTable[] = {
    {"Col2Im", 18, 3, 3, read_col2im},          {"DeformConv", 19, 3, 5, read_deform_conv},
    {"GridSample", 16, 2, 2, read_grid_sample}, {"MaxUnpool", 9, 2, 3, read_max_unpool},
    {"RoiAlign", 10, 3, 3, read_roi_align},
};

}  // namespace

const std::span<const Operator> kSampling = kSampledTable;

}  // namespace octavo::onnx_import
