// TFLite readers: pools, resizing, and blocks of an image as channels or as images of their own. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "base/requantize.h"
#include "import/tflite/operators.h"
#include "ops/conv/conv.h"

namespace octavo::tflite_import {
namespace {

// ---- pools ----

PoolArgs read_pool(OperatorReader& in) {
  const auto& given = in.required_options<file::Pool2DOptions>();
  PoolArgs args{.x = in.value(0),
                .window = window_args(in, given.padding(), {given.stride_h(), given.stride_w()}),
                .layout = Layout::channels_last};
  args.window.kernel = Integers{given.filter_height(), given.filter_width()};
  in.require_rank(args.x, 4, 4);
  return args;
}

ValueId activated(OperatorReader& in, ValueId y) {
  return in.activation(y, in.required_options<file::Pool2DOptions>().fused_activation_function());
}

// The mean of s16 values is one: of the integers that are stored, halves away from 0. (In f32 that is exact for windows
// of up to 255 elements, whose means are far enough from a half or at it.)
ValueId average_of_s16(OperatorReader& in) {
  const QuantParams whole{{1.0f}, {0}, -1};
  PoolArgs args = read_pool(in);
  args.x = in.dequantized(in.stored(0), whole, "integers");
  const ValueId mean = in.rounded(average_pool(in, args, "mean"), whole, DType::s16, Profile::tflite_double, "rounded");
  return activated(in, in.real(mean, 0));
}

// The mean of bytes is a byte: what the file gives the result as scale is another name for it.
ValueId read_average_pool(OperatorReader& in) {
  if (in.tensor(0).dtype == DType::s16 && in.tensor(0).stands_for_reals() && is_of_tflite(in.profile()))
    return average_of_s16(in);
  const ValueId mean = average_pool(in, read_pool(in));
  return activated(in, in.has_own_scale(0) ? in.relabelled(mean, 0) : mean);
}
// The root of the mean of squares.
ValueId read_l2_pool(OperatorReader& in) {
  PoolArgs args = read_pool(in);
  args.x = in.binary(BinaryKind::mul, args.x, args.x, "squares");
  return activated(in, in.unary({.kind = UnaryKind::sqrt}, average_pool(in, args, "mean"), "root"));
}
ValueId read_max_pool(OperatorReader& in) { return activated(in, max_pool(in, read_pool(in))); }

// ---- resizing ----

template <ResizeMode mode, class Options>
ValueId read_resize(OperatorReader& in) {
  const auto& given = in.required_options<Options>();
  ResizeArgs args{.x = in.value(0), .axes = {1, 2}, .sizes = in.constant_integers(1, "size")};
  in.require_rank(args.x, 4, 4);
  if (given.align_corners() && given.half_pixel_centers())
    in.fail("options", "both align_corners and half_pixel_centers", "one of them");
  args.attrs.mode = mode;
  args.attrs.coordinates = given.align_corners()        ? ResizeCoordinates::align_corners
                           : given.half_pixel_centers() ? ResizeCoordinates::half_pixel
                                                        : ResizeCoordinates::asymmetric;
  // Half a pixel's centre lies in the pixel after it; otherwise the pixel that a position lies in, or the nearest where
  // corners are aligned.
  if (mode == ResizeMode::nearest)
    args.attrs.nearest = args.attrs.coordinates == ResizeCoordinates::asymmetric ? NearestRounding::floor
                                                                                 : NearestRounding::round_prefer_ceil;
  return resize(in, args);
}

// ---- blocks ----

ValueId read_space_to_depth(OperatorReader& in) {
  const Number size(in.required_options<file::SpaceToDepthOptions>().block_size(), "option 'block_size'");
  return space_to_depth(in, {.x = in.value(0), .size = size, .layout = Layout::channels_last});
}

ValueId read_depth_to_space(OperatorReader& in) {
  const Number size(in.required_options<file::DepthToSpaceOptions>().block_size(), "option 'block_size'");
  return depth_to_space(in, {.x = in.value(0), .size = size, .layout = Layout::channels_last});
}

// What moves between an image and a batch of its parts: x [N, H, W, C], or [N, H, C], which has a width of 1 here.
struct Blocks {
  ValueId x;
  Pair block;
  Integers margins;  // top, bottom, left, right
  bool is_line = false;
};

// A constant list of `count` numbers.
Integers read_list(OperatorReader& in, int input, std::string_view name, std::size_t count, std::int64_t lowest) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const Numbers list = in.constant_integers(input, name);
  const auto is_bad = [&](std::int64_t number) { return number < lowest || number > kLimit; };
  if (!in.failed() && (list.size() != count || std::any_of(list.begin(), list.end(), is_bad)))
    in.fail(list.place, print(list.values), std::to_string(count) + " numbers from " + std::to_string(lowest) + " on");
  return in.failed() ? Integers(count, lowest) : Integers(list);
}

Blocks read_blocks(OperatorReader& in, std::string_view margins) {
  constexpr std::int64_t kLargest = 1 << 16;
  Blocks made{.x = in.stored(0)};
  in.require_rank(made.x, 3, 4);
  made.is_line = in.rank(made.x) == 3;
  const std::size_t axes = made.is_line ? 1 : 2;
  const Integers block = read_list(in, 1, "block shape", axes, 1);
  made.margins = read_list(in, 2, margins, 2 * axes, 0);
  made.margins.resize(4);
  made.block = {block[0], made.is_line ? 1 : block[1]};
  if (made.block.h > kLargest || made.block.w > kLargest)
    in.unsupported("input 'block shape'", print(block), "at most " + std::to_string(kLargest));
  if (made.is_line) made.x = unsqueeze(in, made.x, Integers{2}, "image");
  return made;
}

ValueId without_width(OperatorReader& in, const Blocks& blocks, ValueId y) {
  return blocks.is_line ? squeeze(in, y, Numbers(Integers{2})) : y;
}

ValueId read_space_to_batch(OperatorReader& in) {
  const Blocks blocks = read_blocks(in, "paddings");
  const auto& [x, block, margins, is_line] = blocks;
  if (in.failed()) return {};
  const ValueId padded =
      zero_padding(in, x, 0, {0, margins[0], margins[2], 0}, {0, margins[1], margins[3], 0}, "padded");
  if (in.failed()) return {};
  const OpenShape s = in.shape(padded);
  if (s[1] % block.h != 0 || s[2] % block.w != 0)
    return in.fail("x", "padded shape " + s.to_string(), "sizes that the block divides");
  const Extents dims{s[0] * block.h * block.w, s[1] / block.h, s[2] / block.w, s[3]};
  const ValueId parts = in.reshape(padded, {s[0], dims[1], block.h, dims[2], block.w, s[3]}, "parts");
  if (!is_line) in.building().spaces[in.output_index(0)] = {in.tensor_index(0), block, margins[0], margins[2]};
  const ValueId moved = transpose(in, parts, Integers{2, 4, 0, 1, 3, 5}, "moved");
  return without_width(in, blocks, in.reshape(moved, dims, is_line ? "batch" : ""));
}

// The convolution between the two operators as a dilated one, to this height and width; nothing where it is not the
// same.
ValueId dilated_conv(OperatorReader& in, const DilatedConv& conv, Pair block, Pair size) {
  if (block.h != conv.space.block.h || block.w != conv.space.block.w || in.failed()) return {};
  const Shape& image = in.shape(conv.x);
  const Shape& w = in.shape(conv.weights);
  Window window = unit_window({w[1], w[2]});
  window.dilations = {block.h, block.w};
  window.pad_begin = {conv.space.top, conv.space.left};
  const std::int64_t sizes[] = {size.h, size.w};
  for (std::size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i);
    window.pad_end[i] = sizes[i] - 1 + window.extent(axis) - image[axis + 1] - window.pad_begin[i];
    if (window.pad_end[i] < 0 || sizes[i] < 1) return {};
  }
  // Quantized as the file quantizes the convolution's own result, whose scale the operator here keeps.
  if (in.tensor(0).dtype != in.output_tensor(0).dtype || in.tensor(0).quant != in.output_tensor(0).quant) return {};
  in.rounds_by(conv.profile);
  const ConvAttrs attrs{.window = window, .groups = conv.groups, .layout = Layout::channels_last};
  const ValueId y = in.add(kConv, attrs, {conv.x, conv.weights, conv.bias}, "dilated");
  return in.quantized(in.activation(y, conv.activation));
}

ValueId read_batch_to_space(OperatorReader& in) {
  const Blocks blocks = read_blocks(in, "crops");
  const auto& [x, block, crops, is_line] = blocks;
  if (in.failed()) return {};
  const Shape s = in.shape(x);
  if (s[0] % (block.h * block.w) != 0) return in.fail("x", "shape " + s.to_string(), "a batch that the block divides");
  const std::int64_t batch = s[0] / (block.h * block.w), height = s[1] * block.h, width = s[2] * block.w;
  if (crops[0] + crops[1] > height || crops[2] + crops[3] > width)
    return in.fail("input 'crops'", print(crops), "less than the image");
  const Pair size{height - crops[0] - crops[1], width - crops[2] - crops[3]};
  const auto found = in.building().dilated.find(in.tensor_index(0));
  if (!is_line && found != in.building().dilated.end() && crops[0] == 0 && crops[2] == 0) {
    const ValueId dilated = dilated_conv(in, found->second, block, size);
    if (dilated.exists() || in.failed()) return dilated;
  }
  const ValueId parts = in.reshape(x, {block.h, block.w, batch, s[1], s[2], s[3]}, "parts");
  const ValueId whole_image =
      in.reshape(transpose(in, parts, Integers{2, 3, 0, 4, 1, 5}, "moved"), {batch, height, width, s[3]}, "whole");
  const std::vector<Range> ranges{
      {.size = batch}, {.start = crops[0], .size = size.h}, {.start = crops[2], .size = size.w}, {.size = s[3]}};
  return without_width(in, blocks, slice(in, whole_image, ranges, is_line ? "image.part" : ""));
}

constexpr OperatorEntry kImagesTable[] = {
    {"AVERAGE_POOL_2D", 1, 1, 1, kReal, read_average_pool},
    {"BATCH_TO_SPACE_ND", 3, 3, 1, kStored, read_batch_to_space},
    {"DEPTH_TO_SPACE", 1, 1, 1, kStored, read_depth_to_space},
    {"L2_POOL_2D", 1, 1, 1, kReal, read_l2_pool},
    {"MAX_POOL_2D", 1, 1, 1, kReal, read_max_pool},
    {"RESIZE_BILINEAR", 2, 2, 1, kReal, read_resize<ResizeMode::linear, file::ResizeBilinearOptions>},
    {"RESIZE_NEAREST_NEIGHBOR", 2, 2, 1, kStored, read_resize<ResizeMode::nearest, file::ResizeNearestNeighborOptions>},
    {"SPACE_TO_BATCH_ND", 3, 3, 1, kStored, read_space_to_batch},
    {"SPACE_TO_DEPTH", 1, 1, 1, kStored, read_space_to_depth},
};

}  // namespace

const std::span<const OperatorEntry> kImages = kImagesTable;

WindowArgs window_args(OperatorReader& in, int padding, Pair stride, Pair dilation) {
  constexpr int kSame = 0, kValid = 1;
  if (padding != kSame && padding != kValid) in.fail("padding", std::to_string(padding), "SAME (0) or VALID (1)");
  return {.strides = Integers{stride.h, stride.w},
          .dilations = Integers{dilation.h, dilation.w},
          .padding = padding == kSame ? Padding::same_upper : Padding::valid};
}

}  // namespace octavo::tflite_import
