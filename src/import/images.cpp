// Verbs of images: convolutions, pools, resizing, blocks. Part of import/.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fields.h"
#include "base/sizes.h"
#include "import/verbs.h"
#include "ops/argmax_pool/argmax_pool.h"
#include "ops/average_pool/average_pool.h"
#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/dequantize/dequantize.h"
#include "ops/image.h"
#include "ops/max_pool/max_pool.h"

namespace octavo::importing {
namespace {

// Nothing sensible is larger; keeps sums of them in 64 bits.
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

std::string place_or(const Numbers& list, const char* fallback) { return list.place.empty() ? fallback : list.place; }

// The list, or as many times `fallback` where it is empty; numbers below `lowest` are an error.
Integers per_axis(NodeBuilder& in, const Numbers& list, const char* name, std::size_t size, std::int64_t lowest,
                  std::int64_t fallback) {
  if (list.empty()) return Integers(size, fallback);
  const auto is_bad = [&](std::int64_t number) { return number < lowest || number > kLimit; };
  if (list.size() != size) {
    in.fail(place_or(list, name), print(list.values), std::to_string(size) + " numbers");
  } else if (std::any_of(list.begin(), list.end(), is_bad)) {
    in.fail(place_or(list, name), OpenShape(list.values).to_string(),
            "at least " + std::to_string(lowest) + " in each direction");
  }
  return list;
}

void pad_same(Window& window, std::span<const Dim> sizes, bool is_upper) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim count = (sizes[i] + window.strides[i] - 1) / window.strides[i];
    const Dim covered = (count - 1) * window.strides[i] + window.extent(static_cast<int>(i));
    const Dim total = larger(0, covered - sizes[i]);
    const Dim less = total / 2, more = (total + 1) / 2;
    window.pad_begin[i] = is_upper ? less : more;
    window.pad_end[i] = is_upper ? more : less;
  }
}

// A kernel that slides over these sizes; a harmless one where something is wrong.
Window window_of(NodeBuilder& in, const WindowArgs& args, std::span<const Dim> sizes) {
  const std::size_t rank = sizes.size();
  const Integers kernel = per_axis(in, args.kernel, "kernel", rank, 1, 1);
  Window window = unit_window({kernel.begin(), kernel.end()});
  window.strides = per_axis(in, args.strides, "strides", rank, 1, 1);
  window.dilations = per_axis(in, args.dilations, "dilations", rank, 1, 1);
  const Integers pads = per_axis(in, args.pads, "pads", 2 * rank, 0, 0);
  if (in.failed()) return unit_window(Extents(rank, 1));
  const bool has_pads = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  if (args.padding != Padding::given) {
    if (has_pads) in.fail(place_or(args.pads, "pads"), print(pads) + " beside a padding by name", "no pads");
    else if (args.padding != Padding::valid) pad_same(window, sizes, args.padding == Padding::same_upper);
    return window;
  }
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pad_begin.assign(pads.begin(), middle);
  window.pad_end.assign(middle, pads.end());
  return window;
}

std::span<const Dim> spatial(const OpenShape& shape, Layout layout) {
  return shape.dims().subspan(layout == Layout::channels_first ? 2 : 1, static_cast<std::size_t>(shape.rank() - 2));
}

template <class PoolAttrs>
PoolAttrs pool_attrs(NodeBuilder& in, const PoolArgs& args) {
  in.require_rank(args.x, 3, kMaxRank);
  if (in.failed()) return {};
  const auto sizes = spatial(in.shape(args.x), args.layout);
  if (args.window.kernel.empty())
    in.fail(place_or(args.window.kernel, "kernel"), "none", std::to_string(sizes.size()) + " numbers");
  // Padding by name fixes the output sizes.
  const bool is_fixed = args.window.padding != Padding::given && args.rounding == Rounding::ceil;
  Rounding rounding = is_fixed ? Rounding::floor : args.rounding;
  const Window window = window_of(in, args.window, sizes);
  // Over smaller images the file means another shape (output_sizes), which is read for itself.
  bool is_larger = false;
  for (std::size_t i = 0; rounding != Rounding::floor && !in.failed() && i < sizes.size(); ++i) {
    const Dim room = sizes[i] + window.pad_begin[i] + window.pad_end[i] - window.extent(static_cast<int>(i));
    const bool is_known = !room.is_number() && room.expression()->range.lowest >= 0;
    is_larger = (!is_known && room < 0) || is_larger;
  }
  if (rounding == Rounding::truncate && !is_larger) rounding = Rounding::floor;
  return {.window = window, .rounding = rounding, .layout = args.layout};
}

}  // namespace

Window conv_window(NodeBuilder& in, const ConvArgs& args) {
  in.require_rank(args.x, 3, kMaxRank);
  in.require_rank(args.w, in.rank(args.x), in.rank(args.x));
  if (in.failed()) return {};
  const auto own = spatial(in.shape(args.w), args.layout);
  WindowArgs window = args.window;
  if (!window.kernel.empty() && !std::equal(own.begin(), own.end(), window.kernel.begin(), window.kernel.end())) {
    in.fail(place_or(window.kernel, "kernel"), print(window.kernel.values),
            print(Extents(own.begin(), own.end())) + ", the sizes of the weights");
  }
  window.kernel.values.assign(own.begin(), own.end());
  return window_of(in, window, spatial(in.shape(args.x), args.layout));
}

ValueId conv(NodeBuilder& in, const ConvArgs& args, std::string_view suffix) {
  const ConvAttrs attrs{.window = conv_window(in, args), .groups = args.groups, .layout = args.layout};
  return in.add(kConv, attrs, {args.x, args.w, args.bias}, suffix);
}

namespace {

// Padding whose sum over both ends is `total`; a negative one becomes output padding.
void cut_in_total(ConvTransposeAttrs& attrs, std::size_t axis, const Dim& total, bool is_upper) {
  const Dim cut = larger(0, total), less = cut / 2, more = (cut + 1) / 2;
  attrs.window.pad_begin[axis] = is_upper ? less : more;
  attrs.window.pad_end[axis] = is_upper ? more : less;
  attrs.output_padding[axis] += larger(0, 0 - total);
}

}  // namespace

ValueId conv_transpose(NodeBuilder& in, const ConvTransposeArgs& args) {
  in.require_rank(args.x, 3, kMaxRank);
  in.require_rank(args.w, in.rank(args.x), in.rank(args.x));
  if (in.failed()) return {};
  const auto sizes = spatial(in.shape(args.x), args.layout);
  WindowArgs given = args.window;
  given.padding = Padding::given;
  const bool gives_sizes = !args.sizes.empty();
  const bool is_by_total =
      gives_sizes || args.window.padding == Padding::same_upper || args.window.padding == Padding::same_lower;
  if (is_by_total || args.window.padding == Padding::valid) given.pads = {};
  ConvTransposeAttrs attrs{
      .window = conv_window(in, {.x = args.x, .w = args.w, .window = given, .layout = args.layout}),
      .groups = args.groups,
      .layout = args.layout};
  const Integers extra = per_axis(in, args.output_padding, "output_padding", sizes.size(), 0, 0);
  attrs.output_padding.assign(extra.begin(), extra.end());
  if (gives_sizes) per_axis(in, args.sizes, "sizes", sizes.size(), 1, 1);
  if (in.failed()) return {};
  for (std::size_t i = 0; i < sizes.size() && is_by_total; ++i) {
    const std::int64_t stride = attrs.window.strides[i];
    const Dim whole = (sizes[i] - 1) * stride + attrs.window.extent(static_cast<int>(i)) + attrs.output_padding[i];
    const Dim wanted = gives_sizes ? args.sizes[i] : sizes[i] * stride;
    cut_in_total(attrs, i, whole - wanted, args.window.padding == Padding::same_upper);
  }
  return in.add(kConvTranspose, attrs, {args.x, args.w, args.bias});
}

ValueId output_channels_first(NodeBuilder& in, ValueId w, const Number& groups) {
  in.require_rank(w, 3, kMaxRank);
  if (in.failed()) return {};
  const Extents dims = in.shape(w).to_vector();
  if (groups < 1 || dims[0] % groups.value != 0)
    return in.fail(groups.place, std::to_string(groups.value), "a divisor of " + to_string(dims[0]));
  const auto turned = [&](ValueId x, const Extents& from, std::string_view suffix) {
    if (groups == 1) return swap_axes(in, x, 0, 1, suffix);
    Extents parts = from, joined = from;
    parts[0] = groups.value;
    parts.insert(parts.begin() + 1, from[0] / groups.value);
    joined[0] = from[1] * groups.value, joined[1] = parts[1];
    return in.reshape(swap_axes(in, in.reshape(x, parts, "parts"), 1, 2, "turned"), joined, suffix);
  };
  const Node* made_by = in.built().graph.producer_if(w, kDequantize);
  const auto* scales = made_by == nullptr ? nullptr : made_by->attrs.get_if<DequantizeAttrs>();
  const bool is_bare = scales == nullptr || scales->block != 0 || (scales->axis >= 0 && scales->axis != 1);
  if (is_bare || !in.is_constant(made_by->inputs[0])) return turned(w, dims, "weights");
  DequantizeAttrs attrs = *scales;
  std::vector<ValueId> inputs = made_by->inputs;
  inputs[0] = turned(inputs[0], dims, "integers");
  if (attrs.axis == 1) attrs.axis = 0;
  // One scale per channel of a group serves every group.
  for (std::size_t i = 1; i < inputs.size() && attrs.axis == 0 && groups != 1; ++i) {
    if (!inputs[i].exists()) continue;
    const Dim count = in.shape(inputs[i])[0];
    const ValueId row = in.reshape(inputs[i], {1, count}, "scales.row");
    inputs[i] =
        in.reshape(expand(in, row, Extents{groups.value, count}, "scales.rows"), {groups.value * count}, "scales");
  }
  return in.add(kDequantize, attrs, std::move(inputs), "weights");
}

ValueId average_pool(NodeBuilder& in, const PoolArgs& args, std::string_view suffix) {
  auto attrs = pool_attrs<AveragePoolAttrs>(in, args);
  attrs.count_include_pad = args.counts_pad;
  return in.add(kAveragePool, attrs, {args.x}, suffix);
}

ValueId max_pool(NodeBuilder& in, const PoolArgs& args, std::string_view suffix) {
  return in.add(kMaxPool, pool_attrs<MaxPoolAttrs>(in, args), {args.x}, suffix);
}

ValueId argmax_pool(NodeBuilder& in, const PoolArgs& args, bool is_column_major, std::string_view suffix) {
  const auto pool = pool_attrs<MaxPoolAttrs>(in, args);
  return in.add(kArgmaxPool,
                ArgmaxPoolAttrs{.window = pool.window, .rounding = pool.rounding, .is_column_major = is_column_major},
                {args.x}, suffix);
}

ValueId lp_pool(NodeBuilder& in, const PoolArgs& args, float p) {
  Window window = pool_attrs<AveragePoolAttrs>(in, args).window;
  if (in.failed()) return {};
  const auto sizes = spatial(in.shape(args.x), args.layout);
  const bool rounds_up = args.rounding == Rounding::ceil && args.window.padding == Padding::given;
  const auto results = output_sizes(window, sizes, rounds_up ? Rounding::ceil : args.rounding);
  if (!results) return in.fail("", "a window that does not fit", to_string(results.errors()));
  // The last window may reach beyond the padding.
  for (std::size_t i = 0; i < sizes.size() && rounds_up; ++i) {
    const Dim last = ((*results)[i] - 1) * window.strides[i] + window.extent(static_cast<int>(i));
    window.pad_end[i] = larger(window.pad_end[i], last - sizes[i] - window.pad_begin[i]);
  }
  // A sum is a convolution with weights of 1.
  const OpenShape& shape = in.shape(args.x);
  const std::int64_t channels = shape[args.layout == Layout::channels_first ? 1 : shape.rank() - 1];
  ImageExtents ones{.batch = channels, .channels = 1, .sizes = window.kernel};
  const ValueId powers = absolute_power(in, args.x, p);
  const ValueId w = expand(in, in.scalar_like(powers, 1.0, "one"), ones.dims(args.layout), "ones");
  const ConvAttrs attrs{.window = window, .groups = channels, .layout = args.layout};
  return root(in, in.add(kConv, attrs, {powers, w}, p == 1.0f ? "" : "sum"), p);
}

ValueId global_pool(NodeBuilder& in, ValueId x, ReduceKind kind, Layout layout, std::string_view suffix) {
  in.require_rank(x, 3, kMaxRank);
  if (in.failed()) return {};
  Integers axes(static_cast<std::size_t>(in.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), layout == Layout::channels_first ? 2 : 1);
  return reduce(in, {.x = x, .kind = kind, .axes = axes}, suffix);
}

// 0 where a size is open: then it is taken of the sizes that come.
float ratio(const Dim& to, const Dim& from) {
  if (!to.is_number() || !from.is_number()) return is_same(to, from) ? 1.0f : 0.0f;
  return static_cast<float>(static_cast<double>(to.example()) / static_cast<double>(from.example()));
}

Dim scaled(const Dim& size, const FloatFactor& scale) {
  constexpr std::int64_t kMost = 64;
  for (std::int64_t parts = 1; parts <= kMost && !size.is_number(); parts *= 2) {
    const double times = scale.number * static_cast<double>(parts);
    if (times == std::floor(times) && times < 0x1p20) return size * static_cast<std::int64_t>(times) / parts;
  }
  if (const auto open = size.is_number() ? std::nullopt : whole_product(size, scale, WholeOf::floor)) return *open;
  const auto number = static_cast<double>(size.fixed());
  return static_cast<std::int64_t>(scale.dtype == DType::f64
                                       ? std::floor(number * scale.number)
                                       : std::floor(static_cast<float>(number) * static_cast<float>(scale.number)));
}

ValueId resize(NodeBuilder& in, const ResizeArgs& args) {
  if (in.failed()) return {};
  const std::string place = place_or(args.sizes, "sizes");
  ResizeAttrs attrs = args.attrs;
  attrs.sizes = in.shape(args.x).to_vector();
  attrs.scales.assign(attrs.sizes.size(), 1.0f);
  if (args.sizes.size() != args.axes.size())
    return in.fail(place, print(args.sizes.values), std::to_string(args.axes.size()) + " numbers");
  for (std::size_t i = 0; i < args.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(args.axes[i]);
    const Dim given = attrs.sizes[axis];
    const bool is_kept = is_same(given, args.sizes[i]);
    if (args.scales.empty() && !is_kept && (given < 1 || args.sizes[i] < 1 || args.sizes[i] > kMaxElements))
      return in.fail(place, print(args.sizes.values), "sizes above 0 for an image that is not empty");
    attrs.sizes[axis] = args.sizes[i];
    if (!args.scales.empty()) attrs.scales[axis] = args.scales[i];
    else if (!is_kept) attrs.scales[axis] = ratio(args.sizes[i], given);
  }
  return in.add(kResize, attrs, {args.x});
}

namespace {

struct Image {
  Dim n = 0, c = 0, h = 0, w = 0;
  std::int64_t size = 1;
};

Image image_of(NodeBuilder& in, const BlockArgs& args) {
  constexpr std::int64_t kLargest = 1 << 15;
  in.require_rank(args.x, 4, 4);
  if (!in.failed() && (args.size < 1 || args.size > kLargest))
    in.fail(args.size.place, std::to_string(args.size.value), "1 to " + std::to_string(kLargest));
  if (in.failed()) return {};
  const OpenShape& s = in.shape(args.x);
  if (args.layout == Layout::channels_first) return {s[0], s[1], s[2], s[3], args.size};
  return {s[0], s[3], s[1], s[2], args.size};
}

ValueId moved(NodeBuilder& in, ValueId x, const Extents& parts, const Integers& perm, const Extents& dims) {
  return in.reshape(transpose(in, in.reshape(x, parts, "parts"), perm, "moved"), dims);
}

}  // namespace

ValueId space_to_depth(NodeBuilder& in, const BlockArgs& args) {
  const auto [n, c, h, w, size] = image_of(in, args);
  if (in.failed()) return {};
  if (h % size != 0 || w % size != 0)
    return in.fail(in.place_of(args.x), "shape " + in.shape(args.x).to_string(),
                   "sizes that " + std::to_string(size) + " divides");
  const Dim depth = size * size * c, rows = h / size, columns = w / size;
  if (args.layout == Layout::channels_first) {
    const Integers order = args.is_depth_first ? Integers{0, 3, 5, 1, 2, 4} : Integers{0, 1, 3, 5, 2, 4};
    return moved(in, args.x, {n, c, rows, size, columns, size}, order, {n, depth, rows, columns});
  }
  return moved(in, args.x, {n, rows, size, columns, size, c}, {0, 1, 3, 2, 4, 5}, {n, rows, columns, depth});
}

ValueId depth_to_space(NodeBuilder& in, const BlockArgs& args) {
  const auto [n, c, h, w, size] = image_of(in, args);
  if (in.failed()) return {};
  const Dim depth = c / (size * size);
  if (depth * size * size != c)
    return in.fail(in.place_of(args.x), "shape " + in.shape(args.x).to_string(),
                   "channels that " + std::to_string(size * size) + " divides");
  if (args.layout == Layout::channels_last)
    return moved(in, args.x, {n, h, w, size, size, depth}, {0, 1, 3, 2, 4, 5}, {n, h * size, w * size, depth});
  const Extents dims{n, depth, h * size, w * size};
  if (args.is_depth_first) return moved(in, args.x, {n, size, size, depth, h, w}, {0, 3, 4, 1, 5, 2}, dims);
  return moved(in, args.x, {n, depth, size, size, h, w}, {0, 1, 4, 2, 5, 3}, dims);
}

}  // namespace octavo::importing
