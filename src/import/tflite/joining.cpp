// TFLite readers: joining, cutting and padding. They take values as they are
// stored, except where scales may differ. Part of import/.
#include <algorithm>
#include <numeric>

#include "import/tflite/operators.h"
#include "import/tflite/parts.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t single(OperatorReader& in, int index, std::string_view name) {
  const Integers given = in.constant_integers(index, name);
  if (!in.failed() && given.size() != 1)
    in.fail("input '" + std::string(name) + "'", std::to_string(given.size()) + " numbers", "one");
  return in.failed() ? 0 : given[0];
}

// The part [start, start + size) of an axis.
ValueId part_of(OperatorReader& in, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t size,
                std::string_view suffix = {}) {
  if (in.failed()) return {};
  const auto rank = static_cast<std::size_t>(in.rank(x));
  SliceAttrs attrs{.starts = Integers(rank, 0), .steps = Integers(rank, 1), .sizes = in.shape(x).to_vector()};
  attrs.starts[static_cast<std::size_t>(axis)] = start;
  attrs.sizes[static_cast<std::size_t>(axis)] = size;
  return in.add(kSlice, attrs, {x}, suffix);
}

// Outputs 0, 1, ... are parts of these sizes along the axis.
void split(OperatorReader& in, ValueId x, std::int64_t axis, const Integers& sizes) {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes.size() && !in.failed(); ++i) {
    in.output_stored(static_cast<int>(i), part_of(in, x, axis, start, sizes[i], "part" + std::to_string(i)));
    start += sizes[i];
  }
}

struct Paddings {
  Integers begin, end;
};

// A constant [rank, 2].
Paddings read_paddings(OperatorReader& in, ValueId x, int index) {
  const Integers given = in.constant_integers(index, "paddings");
  if (in.failed()) return {};
  const auto rank = static_cast<std::size_t>(in.rank(x));
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (given.size() != 2 * rank ||
      std::any_of(given.begin(), given.end(), [](std::int64_t pad) { return pad < 0 || pad > kLimit; })) {
    in.fail("input 'paddings'", print(given), "two numbers from 0 on for each of " + std::to_string(rank) + " axes");
    return {};
  }
  Paddings paddings;
  for (std::size_t i = 0; i < given.size(); i += 2) {
    paddings.begin.push_back(given[i]);
    paddings.end.push_back(given[i + 1]);
  }
  return paddings;
}

// The last (or first) elements of an axis, mirrored with the outermost one
// included.
ValueId mirrored(OperatorReader& in, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t size,
                 std::string_view suffix) {
  if (in.failed()) return {};
  const auto rank = static_cast<std::size_t>(in.rank(x));
  SliceAttrs attrs{.starts = Integers(rank, 0), .steps = Integers(rank, 1), .sizes = in.shape(x).to_vector()};
  attrs.starts[static_cast<std::size_t>(axis)] = start;
  attrs.steps[static_cast<std::size_t>(axis)] = -1;
  attrs.sizes[static_cast<std::size_t>(axis)] = size;
  return in.add(kSlice, attrs, {x}, suffix);
}

ValueId pad_symmetric(OperatorReader& in, ValueId x, const Paddings& paddings) {
  for (int axis = 0; axis < in.rank(x) && !in.failed(); ++axis) {
    const std::int64_t size = in.shape(x)[axis];
    const std::int64_t begin = paddings.begin[static_cast<std::size_t>(axis)],
                       end = paddings.end[static_cast<std::size_t>(axis)];
    if (begin > size || end > size)
      in.fail("input 'paddings'", "more than the " + std::to_string(size) + " elements of an axis", "at most as many");
    const std::string suffix = "axis" + std::to_string(axis);
    std::vector<ValueId> parts;
    if (begin > 0) parts.push_back(mirrored(in, x, axis, begin - 1, begin, suffix + ".begin"));
    parts.push_back(x);
    if (end > 0) parts.push_back(mirrored(in, x, axis, size - 1, end, suffix + ".end"));
    if (parts.size() > 1) x = in.add(kConcat, ConcatAttrs{.axis = axis}, std::move(parts), suffix);
  }
  return x;
}

}  // namespace

ValueId add_zero_padding(OperatorReader& in, ValueId x, int input, Integers begin, Integers end,
                         std::string_view suffix) {
  if (in.failed()) return {};
  Tensor zero(in.dtype(x), Shape{});
  const auto& quant = in.tensor(input).quant;
  if (is_8bit(in.dtype(x)) && quant) store_double(zero.view(), 0, quant->zero_point[0]);
  return in.add(kPad, PadAttrs{.begin = std::move(begin), .end = std::move(end)},
                {x, in.add_constant(std::move(zero), "padding")}, suffix);
}

void read_concat(OperatorReader& in) {
  const auto& given = in.required_options<file::ConcatenationOptions>();
  std::vector<ValueId> parts;
  for (int i = 0; i < in.input_count(); ++i) parts.push_back(in.operand(i));
  if (in.failed()) return;
  const ConcatAttrs attrs{.axis = in.axis("option 'axis'", given.axis(), in.rank(parts[0]))};
  in.output(0, in.activation(in.add(kConcat, attrs, parts), given.fused_activation_function()));
}

void read_split(OperatorReader& in) {
  const ValueId x = in.stored(1);
  const std::int64_t axis = in.axis("input 'axis'", single(in, 0, "axis"), in.rank(x));
  if (in.failed()) return;
  const std::int64_t size = in.shape(x)[static_cast<int>(axis)];
  const int count = in.output_count();
  if (size % count != 0)
    return in.fail("input", "axis of " + std::to_string(size),
                   "one that divides into " + std::to_string(count) + " parts");
  split(in, x, axis, Integers(static_cast<std::size_t>(count), size / count));
}

void read_split_v(OperatorReader& in) {
  const ValueId x = in.stored(0);
  Integers sizes = in.constant_integers(1, "sizes");
  const std::int64_t axis = in.axis("input 'axis'", single(in, 2, "axis"), in.rank(x));
  if (in.failed()) return;
  const std::int64_t whole = in.shape(x)[static_cast<int>(axis)];
  std::int64_t known = 0;
  for (const std::int64_t size : sizes) known += size < 0 || size > whole ? (size == -1 ? 0 : whole + 1) : size;
  const bool has_open = std::count(sizes.begin(), sizes.end(), -1) == 1 && known <= whole;
  if (sizes.size() != static_cast<std::size_t>(in.output_count()) || (known != whole && !has_open)) {
    return in.fail("input 'sizes'", print(sizes),
                   std::to_string(in.output_count()) + " sizes, together " + std::to_string(whole));
  }
  std::replace(sizes.begin(), sizes.end(), std::int64_t{-1}, whole - known);
  split(in, x, axis, sizes);
}

void read_slice(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Integers starts = in.constant_integers(1, "begin");
  Integers sizes = in.constant_integers(2, "size");
  if (in.failed()) return;
  const auto rank = static_cast<std::size_t>(in.rank(x));
  if (starts.size() != rank || sizes.size() != rank) {
    return in.fail("inputs 'begin' and 'size'", print(starts) + " and " + print(sizes),
                   std::to_string(rank) + " numbers each");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t whole = in.shape(x)[static_cast<int>(i)];
    const bool is_inside = starts[i] >= 0 && starts[i] <= whole && sizes[i] >= -1 && sizes[i] <= whole - starts[i];
    if (!is_inside)
      return in.fail("inputs 'begin' and 'size'", print(starts) + " and " + print(sizes),
                     "a part of " + in.shape(x).to_string());
    if (sizes[i] == -1) sizes[i] = whole - starts[i];
  }
  in.output_stored(0, in.add(kSlice, SliceAttrs{.starts = starts, .steps = Integers(rank, 1), .sizes = sizes}, {x}));
}

void read_strided_slice(OperatorReader& in) {
  const auto& given = in.required_options<file::StridedSliceOptions>();
  const ValueId x = in.stored(0);
  const Integers begin = in.constant_integers(1, "begin"), end = in.constant_integers(2, "end"),
                 steps = in.constant_integers(3, "strides");
  if (given.ellipsis_mask() != 0) in.unsupported("option 'ellipsis_mask'", std::to_string(given.ellipsis_mask()), "0");
  if (given.new_axis_mask() != 0) in.unsupported("option 'new_axis_mask'", std::to_string(given.new_axis_mask()), "0");
  if (in.failed()) return;
  const auto rank = static_cast<std::size_t>(in.rank(x));
  const std::size_t named = begin.size();
  if (named > rank || end.size() != named || steps.size() != named) {
    return in.fail("inputs 'begin', 'end' and 'strides'", print(begin) + ", " + print(end) + " and " + print(steps),
                   "lists of one length, at most " + std::to_string(rank));
  }
  SliceAttrs attrs{.starts = Integers(rank, 0), .steps = Integers(rank, 1), .sizes = in.shape(x).to_vector()};
  Integers dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = attrs.sizes[i];
    const auto has = [&](std::int32_t mask) { return (static_cast<std::uint32_t>(mask) >> i & 1u) != 0; };
    if (i >= named) {
      dims.push_back(size);
      continue;
    }
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    const bool shrinks = has(given.shrink_axis_mask());
    const std::int64_t step = shrinks ? 1 : std::clamp(steps[i], -kFar, kFar);
    if (step == 0) return in.fail("input 'strides'", print(steps), "numbers other than 0");
    // Positions count from the end where they are negative, and stop at the
    // ends of the axis.
    const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
    const auto place = [&](std::int64_t position) {
      position = std::clamp(position, -kFar, kFar);
      return std::clamp(position < 0 ? position + size : position, lowest, highest);
    };
    const std::int64_t first = has(given.begin_mask()) && !shrinks ? (step > 0 ? lowest : highest) : place(begin[i]);
    const std::int64_t asked =
        given.offset() ? std::clamp(begin[i], -kFar, kFar) + std::clamp(end[i], -kFar, kFar) : end[i];
    const std::int64_t last =
        shrinks ? first + 1 : (has(given.end_mask()) ? (step > 0 ? highest : lowest) : place(asked));
    const std::int64_t count = step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
    if (shrinks && (first < 0 || first >= size))
      return in.fail("input 'begin'", print(begin), "a position of " + in.shape(x).to_string());
    attrs.sizes[i] = std::max<std::int64_t>(count, 0);
    attrs.starts[i] = attrs.sizes[i] == 0 ? 0 : first;
    attrs.steps[i] = step;
    if (!shrinks) dims.push_back(attrs.sizes[i]);
  }
  in.output_stored(0, in.reshape(in.add(kSlice, attrs, {x}, "part"), dims));
}

void read_pack(OperatorReader& in) {
  const auto& given = in.required_options<file::PackOptions>();
  std::vector<ValueId> parts;
  for (int i = 0; i < in.input_count() && !in.failed(); ++i) {
    const ValueId x = in.stored(i);
    const std::int64_t axis = in.axis("option 'axis'", given.axis(), in.rank(x) + 1);
    if (in.failed()) return;
    Integers dims = in.shape(x).to_vector();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    parts.push_back(in.reshape(x, dims, "part" + std::to_string(i)));
  }
  if (in.failed()) return;
  in.output_stored(
      0, in.add(kConcat, ConcatAttrs{.axis = in.axis("option 'axis'", given.axis(), in.rank(parts[0]))}, parts));
}

void read_unpack(OperatorReader& in) {
  const auto& given = in.required_options<file::UnpackOptions>();
  const ValueId x = in.stored(0);
  const std::int64_t axis = in.axis("option 'axis'", given.axis(), in.rank(x));
  if (in.failed()) return;
  const std::int64_t size = in.shape(x)[static_cast<int>(axis)];
  if (size != in.output_count())
    return in.fail("outputs", std::to_string(in.output_count()), std::to_string(size) + ", the size of the axis");
  Integers dims = in.shape(x).to_vector();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::int64_t i = 0; i < size && !in.failed(); ++i) {
    const std::string suffix = "part" + std::to_string(i);
    in.output_stored(static_cast<int>(i), in.reshape(part_of(in, x, axis, i, 1, suffix), dims, suffix + ".flat"));
  }
}

void read_pad(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Paddings paddings = read_paddings(in, x, 1);
  if (in.has(2)) {
    const ValueId value = in.stored(2);
    if (!in.failed() && in.shape(value).elements() != 1)
      in.fail("input 'value'", "shape " + in.shape(value).to_string(), "a scalar");
    return in.output_stored(
        0, in.add(kPad, PadAttrs{.begin = paddings.begin, .end = paddings.end}, {x, in.reshape(value, {}, "value")}));
  }
  in.output_stored(0, add_zero_padding(in, x, 0, paddings.begin, paddings.end, ""));
}

void read_mirror_pad(OperatorReader& in) {
  constexpr int kReflect = 0, kSymmetric = 1;
  const int mode = in.required_options<file::MirrorPadOptions>().mode();
  const ValueId x = in.stored(0);
  const Paddings paddings = read_paddings(in, x, 1);
  if (mode == kSymmetric) return in.output_stored(0, pad_symmetric(in, x, paddings));
  if (mode != kReflect) in.unsupported("option 'mode'", std::to_string(mode), "REFLECT (0) or SYMMETRIC (1)");
  in.output_stored(0,
                   in.add(kPad, PadAttrs{.mode = PadMode::reflect, .begin = paddings.begin, .end = paddings.end}, {x}));
}

}  // namespace octavo::tflite_import
