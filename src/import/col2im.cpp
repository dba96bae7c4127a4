// Windows put back into the image that they were taken from. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "import/rare_verbs.h"
#include "ops/scatter_nd/scatter_nd.h"

namespace octavo::importing {
namespace {

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

Blocks checked(NodeBuilder& in, const Col2ImArgs& args) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const std::size_t rank = args.image.size();
  Blocks blocks{.image = args.image,
                .block = args.block,
                .strides = args.strides,
                .dilations = args.dilations,
                .pads = args.pads};
  const auto check = [&](const Integers& list, const Numbers& given, std::size_t size, std::int64_t lowest) {
    const bool is_good = std::all_of(list.begin(), list.end(), [&](auto n) { return n >= lowest && n < kMost; });
    if (list.size() != size || !is_good)
      in.fail(given.place, print(list), std::to_string(size) + " numbers from " + std::to_string(lowest) + " on");
  };
  check(blocks.image, args.image, rank, 1);
  check(blocks.block, args.block, rank, 1);
  check(blocks.strides, args.strides, rank, 1);
  check(blocks.dilations, args.dilations, rank, 1);
  check(blocks.pads, args.pads, 2 * rank, 0);
  for (std::size_t i = 0; i < rank && !in.failed(); ++i) {
    const std::int64_t room = blocks.padded(i) - 1;
    if ((blocks.block[i] - 1) > room / blocks.dilations[i])
      in.fail(args.block.place, print(blocks.block), "blocks that fit into " + print(blocks.image));
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

void check_shape(NodeBuilder& in, ValueId x, const Blocks& blocks) {
  const OpenShape& shape = in.shape(x);
  // Products of numbers that a file may make as large as it likes, in f64 first.
  const auto fits = [](const Integers& list, const Dim& size) {
    double all = 1.0;
    for (const std::int64_t number : list) all *= static_cast<double>(number);
    return all <= static_cast<double>(size.fixed()) && size.fixed() % std::max<std::int64_t>(1, product(list)) == 0;
  };
  if (!fits(blocks.block, shape[1]) || !fits(blocks.counts, shape[2]) || product(blocks.counts) != shape[2].fixed())
    in.fail(in.place_of(x), "shape " + shape.to_string(),
            "[N, C * " + print(blocks.block) + ", " + print(blocks.counts) + "], multiplied out");
  else if (shape[2] * product(blocks.block) > kMostPlaces)
    in.unsupported(in.place_of(x), "shape " + shape.to_string(),
                   "at most " + std::to_string(kMostPlaces) + " places in the image");
}

}  // namespace

ValueId col2im(NodeBuilder& in, const Col2ImArgs& args) {
  in.require_rank(args.x, 3, 3);
  if (in.failed()) return {};
  const Blocks blocks = checked(in, args);
  if (!in.failed()) check_shape(in, args.x, blocks);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(args.x);
  const std::int64_t taps = product(blocks.block);
  const Dim channels = shape[1] / taps, planes = shape[0] * channels;
  Extents dims{shape[0], channels};
  Dim padded = 1;
  for (std::size_t i = 0; i < blocks.image.size(); ++i) {
    dims.push_back(blocks.padded(i));
    padded = padded * blocks.padded(i);
  }
  if (padded > kMaxElements) return in.fail(args.image.place, print(blocks.image), "an image of fewer elements");
  const ValueId turned =
      transpose(in, in.reshape(args.x, {planes, shape[2] * taps}, "planes"), Integers{1, 0}, "columns");
  const ValueId zeros = expand(in, in.scalar_like(args.x, 0.0, "zero"), Extents{padded, planes}, "zeros");
  const ValueId sums = in.add(kScatterNd, ScatterNdAttrs{ScatterKind::add},
                              {zeros, in.constant(places_of(blocks), "places"), turned}, "sums");
  const ValueId whole_image = in.reshape(transpose(in, sums, Integers{1, 0}, "images"), dims, "padded");
  if (in.failed()) return {};
  std::vector<Range> ranges = whole(in.shape(whole_image));
  for (std::size_t i = 0; i < blocks.image.size(); ++i)
    ranges[i + 2] = {.start = blocks.pads[i], .size = blocks.image[i]};
  return slice(in, whole_image, ranges);
}

}  // namespace octavo::importing
