// TFLite readers: blocks of an image as channels or as images of their own.
// Part of import/.
#include <algorithm>

#include "import/tflite/operators.h"
#include "import/tflite/parts.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

using Integers = std::vector<std::int64_t>;

// Block sizes of height and width; lists of another length are an error.
Pair read_block(OperatorReader& in) {
  const Integers block = in.constant_integers(1, "block shape");
  if (in.failed()) return {};
  constexpr std::int64_t kLimit = 1 << 16;
  if (block.size() != 2 ||
      std::any_of(block.begin(), block.end(), [](std::int64_t size) { return size < 1 || size > kLimit; })) {
    in.unsupported("input 'block shape'", print(block), "two numbers from 1 on");
    return {};
  }
  return {block[0], block[1]};
}

// A constant [2, 2]: top, bottom, left, right.
Integers read_margins(OperatorReader& in, std::string_view name) {
  Integers margins = in.constant_integers(2, name);
  if (in.failed()) return {};
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (margins.size() == 4 &&
      std::all_of(margins.begin(), margins.end(), [](std::int64_t m) { return m >= 0 && m <= kLimit; }))
    return margins;
  in.fail("input '" + std::string(name) + "'", print(margins), "four numbers from 0 on");
  return {};
}

std::int64_t read_depth_block(OperatorReader& in, ValueId x, std::int64_t size) {
  in.require_rank("x", x, 4, 4);
  if (size < 1 || size > (1 << 16)) in.fail("option 'block_size'", std::to_string(size), "1 to 65536");
  return size;
}

// The convolution between the two operators as a dilated one; false where it is
// not the same.
bool add_dilated(OperatorReader& in, const DilatedConv& conv, Pair block, const SliceAttrs& result) {
  if (block.h != conv.space.block.h || block.w != conv.space.block.w || in.failed()) return false;
  const Shape& image = in.shape(conv.x);
  const Shape& w = in.shape(conv.weights);
  Window window = unit_window({w[1], w[2]});
  window.dilations = {block.h, block.w};
  window.pad_begin = {conv.space.top, conv.space.left};
  for (std::size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 1;
    window.pad_end[i] =
        result.sizes[i + 1] - 1 + window.extent(static_cast<int>(i)) - image[axis] - window.pad_begin[i];
    if (window.pad_end[i] < 0 || result.sizes[i + 1] < 1) return false;
  }
  const ConvAttrs attrs{.window = window, .groups = conv.groups, .layout = Layout::channels_last};
  // Quantized as the file quantizes the convolution's own result, whose scale
  // the operator here keeps.
  if (in.tensor(0).dtype != in.output_tensor(0).dtype || in.tensor(0).quant != in.output_tensor(0).quant) return false;
  in.output(0, in.activation(in.add(kConv, attrs, {conv.x, conv.weights, conv.bias}, "dilated"), conv.activation));
  return true;
}

}  // namespace

void read_space_to_depth(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const std::int64_t size = read_depth_block(in, x, in.required_options<file::SpaceToDepthOptions>().block_size());
  if (in.failed()) return;
  const Shape& s = in.shape(x);
  if (s[1] % size != 0 || s[2] % size != 0)
    return in.fail("x", "shape " + s.to_string(), "sizes that " + std::to_string(size) + " divides");
  const Integers dims{s[0], s[1] / size, s[2] / size, size * size * s[3]};
  const ValueId parts = in.reshape(x, {s[0], s[1] / size, size, s[2] / size, size, s[3]}, "parts");
  in.output_stored(0, in.reshape(in.transpose(parts, {0, 1, 3, 2, 4, 5}, "moved"), dims));
}

void read_depth_to_space(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const std::int64_t size = read_depth_block(in, x, in.required_options<file::DepthToSpaceOptions>().block_size());
  if (in.failed()) return;
  const Shape& s = in.shape(x);
  if (s[3] % (size * size) != 0)
    return in.fail("x", "shape " + s.to_string(), "channels that " + std::to_string(size * size) + " divides");
  const std::int64_t depth = s[3] / (size * size);
  const Integers dims{s[0], s[1] * size, s[2] * size, depth};
  const ValueId parts = in.reshape(x, {s[0], s[1], s[2], size, size, depth}, "parts");
  in.output_stored(0, in.reshape(in.transpose(parts, {0, 1, 3, 2, 4, 5}, "moved"), dims));
}

void read_space_to_batch(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Pair block = read_block(in);
  const Integers margins = read_margins(in, "paddings");
  in.require_rank("x", x, 4, 4);
  if (in.failed()) return;
  const ValueId padded =
      add_zero_padding(in, x, 0, {0, margins[0], margins[2], 0}, {0, margins[1], margins[3], 0}, "padded");
  if (in.failed()) return;
  const Shape s = in.shape(padded);
  if (s[1] % block.h != 0 || s[2] % block.w != 0)
    return in.fail("x", "padded shape " + s.to_string(), "sizes that the block divides");
  const Integers dims{s[0] * block.h * block.w, s[1] / block.h, s[2] / block.w, s[3]};
  const ValueId parts = in.reshape(padded, {s[0], dims[1], block.h, dims[2], block.w, s[3]}, "parts");
  const ValueId y = in.reshape(in.transpose(parts, {2, 4, 0, 1, 3, 5}, "moved"), dims);
  in.building().spaces[in.output_index(0)] = {in.tensor_index(0), block, margins[0], margins[2]};
  in.output_stored(0, y);
}

void read_batch_to_space(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Pair block = read_block(in);
  const Integers crops = read_margins(in, "crops");
  in.require_rank("x", x, 4, 4);
  if (in.failed()) return;
  const Shape s = in.shape(x);
  if (s[0] % (block.h * block.w) != 0) return in.fail("x", "shape " + s.to_string(), "a batch that the block divides");
  const std::int64_t batch = s[0] / (block.h * block.w), height = s[1] * block.h, width = s[2] * block.w;
  if (crops[0] + crops[1] > height || crops[2] + crops[3] > width)
    return in.fail("input 'crops'", print(crops), "less than the image");
  const ValueId parts = in.reshape(x, {block.h, block.w, batch, s[1], s[2], s[3]}, "parts");
  const ValueId whole =
      in.reshape(in.transpose(parts, {2, 3, 0, 4, 1, 5}, "moved"), {batch, height, width, s[3]}, "whole");
  const SliceAttrs attrs{.starts = {0, crops[0], crops[2], 0},
                         .steps = {1, 1, 1, 1},
                         .sizes = {batch, height - crops[0] - crops[1], width - crops[2] - crops[3], s[3]}};
  const auto dilated = in.building().dilated.find(in.tensor_index(0));
  if (dilated != in.building().dilated.end() && crops[0] == 0 && crops[2] == 0 &&
      add_dilated(in, dilated->second, block, attrs))
    return;
  in.output_stored(0, in.add(kSlice, attrs, {whole}));
}

}  // namespace octavo::tflite_import
