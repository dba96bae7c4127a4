// TFLite readers: operators that move, cut, join and pad elements. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "import/tflite/operators.h"

namespace octavo::tflite_import {
namespace {

// ---- shapes ----

// The dimensions that a RESHAPE names: by an input, or in older files by its options.
Numbers wanted_dims(OperatorReader& in) {
  if (in.has(1)) return in.constant_integers(1, "shape");
  const auto* given = in.options<file::ReshapeOptions>();
  if (given != nullptr && given->new_shape() != nullptr)
    return {Integers(given->new_shape()->begin(), given->new_shape()->end()), "option 'new_shape'"};
  in.fail("shape", "none", "an input or an option");
  return {};
}

// A file made for batch 1 may say so in the shape: the first dimension then follows the batch.
// Of x as the file has it: complex numbers are pairs along one axis more, the last.
int file_rank(OperatorReader& in, ValueId x) {
  return in.failed() ? 0 : in.rank(x) - (in.tensor(0).is_complex ? 1 : 0);
}

// Axes that count from the end do so in a file of `rank` axes.
Numbers axes_of_rank(Numbers axes, int rank) {
  for (Dim& axis : axes.values) {
    if (axis < 0) axis += rank;
  }
  return axes;
}

ValueId read_reshape(OperatorReader& in) {
  const ValueId x = in.value(0);
  Numbers dims = wanted_dims(in);
  if (in.failed()) return {};
  if (in.tensor(0).is_complex) dims.values.push_back(2);
  const Dim elements = in.shape(x).elements(), batch = in.built().batch;
  const auto known = checked_elements(dims.values);
  if (known && !is_same(*known, elements) && !dims.empty() && is_one(dims[0]) && is_same(*known * batch, elements))
    dims.values[0] = batch;
  else if (known && *known != elements)
    return in.fail(dims.place, print(dims.values),
                   "one for the " + to_string(elements) + " elements of " + in.shape(x).to_string());
  return reshape_to(in, x, dims);
}

ValueId read_squeeze(OperatorReader& in) {
  const ValueId x = in.value(0);
  const auto* given = in.options<file::SqueezeOptions>();
  const bool names_axes = given != nullptr && given->squeeze_dims() != nullptr && given->squeeze_dims()->size() > 0;
  if (!names_axes) return squeeze(in, x, std::nullopt);
  const auto& axes = *given->squeeze_dims();
  const Numbers named(Integers(axes.begin(), axes.end()), "option 'squeeze_dims'");
  return squeeze(in, x, axes_of_rank(named, file_rank(in, x)));
}

ValueId read_expand_dims(OperatorReader& in) {
  const ValueId x = in.value(0);
  const Number axis = in.constant_integer(1, "axis");
  return unsqueeze(in, x, axes_of_rank(Numbers(Integers{axis.value}, axis.place), file_rank(in, x) + 1));
}

ValueId read_transpose(OperatorReader& in) {
  const ValueId x = in.value(0);
  Numbers order = in.constant_integers(1, "perm");
  if (in.tensor(0).is_complex) order.values.push_back(file_rank(in, x));
  return transpose(in, x, order);
}

ValueId read_shape(OperatorReader& in) {
  const DType type = in.output_tensor(0).dtype;
  if (type != DType::s32 && type != DType::s64)
    return in.fail("output", std::string(octavo::name_of(type)), "s32 or s64");
  return in.cast(in.extents(in.shape(in.value(0)).to_vector(), "shape"), type, "shape");
}

// Sparse constants are read as dense ones.
ValueId read_densify(OperatorReader& in) { return in.value(0); }

ValueId read_rank(OperatorReader& in) {
  const ValueId x = in.value(0);
  return in.constant(Tensor::scalar(static_cast<std::int32_t>(in.rank(x))), "rank");
}

ValueId read_range(OperatorReader& in) {
  const ValueId start = in.placed(in.value(0), "input 'start'"), limit = in.placed(in.value(1), "input 'limit'");
  return range(in, start, limit, in.placed(in.value(2), "input 'delta'"));
}

// Shapes that broadcast to each other: what they become.
ValueId read_broadcast_args(OperatorReader& in) {
  const Numbers a = in.constant_integers(0, "s0"), b = in.constant_integers(1, "s1");
  if (in.failed()) return {};
  const std::size_t rank = std::max(a.size(), b.size());
  const auto at = [&](const Numbers& shape, std::size_t i) {
    return i + shape.size() < rank ? Dim(1) : shape[i + shape.size() - rank];
  };
  Extents dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim x = at(a, i), y = at(b, i);
    if (!is_one(x) && !is_one(y) && x != y)
      return in.fail("inputs 's0' and 's1'", print(a.values) + " and " + print(b.values), "shapes that broadcast");
    dims.push_back(is_one(x) ? y : x);
  }
  return in.cast(in.extents(dims, "shape"), in.output_tensor(0).dtype);
}

// ---- parts ----

ValueId read_concat(OperatorReader& in) {
  const auto& given = in.required_options<file::ConcatenationOptions>();
  const ValueId y = concat(in, in.values(), {given.axis(), "option 'axis'"});
  return in.activation(y, given.fused_activation_function());
}

ValueId read_pack(OperatorReader& in) {
  return stack(in, in.values(), {in.required_options<file::PackOptions>().axis(), "option 'axis'"});
}

ValueId read_unpack(OperatorReader& in) {
  unstack(in, in.value(0), {in.required_options<file::UnpackOptions>().axis(), "option 'axis'"});
  return {};
}

ValueId read_split(OperatorReader& in) {
  const ValueId x = in.value(1);
  const Number axis = in.constant_integer(0, "axis");
  const auto normal = static_cast<int>(in.axis(axis, in.rank(x)));
  if (in.failed()) return {};
  const Dim size = in.shape(x)[normal];
  const std::int64_t count = in.output_count();
  if (size % count != 0)
    return in.fail("input", "axis of " + to_string(size), "one that divides into " + std::to_string(count) + " parts");
  split(in, x, axis, Extents(static_cast<std::size_t>(count), size / count));
  return {};
}

// One size may be -1: what the others leave.
ValueId read_split_v(OperatorReader& in) {
  const ValueId x = in.value(0);
  Numbers sizes = in.constant_integers(1, "sizes");
  const Number axis = in.constant_integer(2, "axis");
  const auto normal = static_cast<int>(in.axis(axis, in.rank(x)));
  if (in.failed()) return {};
  Dim left = in.shape(x)[normal];
  for (const Dim& size : sizes) left -= smaller(larger(size, 0), left);
  const auto rest = std::find(sizes.values.begin(), sizes.values.end(), -1);
  if (rest != sizes.values.end()) *rest = left;
  split(in, x, axis, sizes);
  return {};
}

ValueId read_slice(OperatorReader& in) {
  const ValueId x = in.value(0);
  const Numbers starts = in.constant_integers(1, "begin"), sizes = in.constant_integers(2, "size");
  if (in.failed()) return {};
  const auto refuse = [&](const std::string& expected) {
    return in.fail("inputs 'begin' and 'size'", print(starts.values) + " and " + print(sizes.values), expected);
  };
  const auto rank = static_cast<std::size_t>(in.rank(x));
  if (starts.size() != rank || sizes.size() != rank) return refuse(std::to_string(rank) + " numbers each");
  std::vector<Range> ranges = whole(in.shape(x));
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim left = ranges[i].size - starts[i];
    if (starts[i] < 0 || left < 0 || sizes[i] < -1 || sizes[i] > left)
      return refuse("a part of " + in.shape(x).to_string());
    ranges[i] = {.start = starts[i], .size = sizes[i] == -1 ? left : sizes[i]};
  }
  return slice(in, x, ranges);
}

// Entries of the lists of a STRIDED_SLICE, and what its masks say of them by bits.
struct Strides {
  const file::StridedSliceOptions& options;
  Numbers begin, end, steps;

  static constexpr std::size_t kMost = 32;
  bool has(std::int32_t mask, std::size_t entry) const {
    return entry < kMost && (static_cast<std::uint32_t>(mask) >> entry & 1u) != 0;
  }
  bool is_ellipsis(std::size_t entry) const { return has(options.ellipsis_mask(), entry); }
  bool is_new_axis(std::size_t entry) const { return !is_ellipsis(entry) && has(options.new_axis_mask(), entry); }
  bool shrinks(std::size_t entry) const { return has(options.shrink_axis_mask(), entry); }
};

// What an entry takes of an axis of `size`.
Range range_of_entry(OperatorReader& in, const Strides& s, std::size_t i, const Dim& size) {
  if (s.shrinks(i)) {
    const Dim at = larger(s.begin[i] < 0 ? s.begin[i] + size : s.begin[i], 0);
    if (at >= size) in.fail(s.begin.place, print(s.begin.values), "a position of an axis of " + to_string(size));
    return {.start = at, .size = 1};
  }
  const bool is_forward = s.steps[i] > 0;
  if (s.steps[i] == 0) {
    in.fail(s.steps.place, print(s.steps.values), "numbers other than 0");
    return {};
  }
  const auto near = [](const Dim& at) { return smaller(larger(at, -kFar), kFar); };
  const Dim offset = s.options.offset() ? near(s.begin[i]) : Dim(0);
  const Dim first = s.has(s.options.begin_mask(), i) ? Dim(is_forward ? 0 : kFar) : s.begin[i];
  const Dim last = s.has(s.options.end_mask(), i) ? Dim(is_forward ? kFar : -kFar) : offset + near(s.end[i]);
  // Backwards from before the axis is nothing.
  const bool is_before = !is_forward && first < 0 - size;
  return is_before ? Range{} : range_of_slice(size, first, last, s.steps[i].fixed());
}

// An ellipsis stands for all axes that no other entry has; a new axis takes none.
ValueId read_strided_slice(OperatorReader& in) {
  const auto& given = in.required_options<file::StridedSliceOptions>();
  const ValueId x = in.value(0);
  const Strides s{given, in.constant_integers(1, "begin"), in.constant_integers(2, "end"),
                  in.constant_integers(3, "strides")};
  if (in.failed()) return {};
  const std::size_t entries = s.begin.size(), rank = static_cast<std::size_t>(in.rank(x));
  std::size_t taken = 0, ellipses = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    ellipses += s.is_ellipsis(i) ? 1 : 0;
    taken += s.is_ellipsis(i) || s.is_new_axis(i) ? 0 : 1;
  }
  if (taken > rank || ellipses > 1 || entries > Strides::kMost || s.end.size() != entries || s.steps.size() != entries)
    return in.fail("inputs 'begin', 'end' and 'strides'",
                   print(s.begin.values) + ", " + print(s.end.values) + " and " + print(s.steps.values),
                   "lists of one length, for at most " + std::to_string(rank) + " axes and one ellipsis");
  std::vector<Range> ranges = whole(in.shape(x));
  Extents dims;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < entries && !in.failed(); ++i) {
    if (s.is_ellipsis(i)) {
      for (const std::size_t end = axis + rank - taken; axis < end; ++axis) dims.push_back(ranges[axis].size);
      continue;
    }
    if (s.is_new_axis(i)) {
      dims.emplace_back(1);
      continue;
    }
    ranges[axis] = range_of_entry(in, s, i, ranges[axis].size);
    if (!s.shrinks(i)) dims.push_back(ranges[axis].size);
    ++axis;
  }
  for (; axis < rank; ++axis) dims.push_back(ranges[axis].size);
  return in.failed() ? ValueId{} : in.reshape(slice(in, x, ranges, "part"), dims);
}

// ---- padding ----

// A constant [rank, 2].
PadArgs read_paddings(OperatorReader& in) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  PadArgs args{.x = in.value(0)};
  const Numbers given = in.constant_integers(1, "paddings");
  const auto is_bad = [](std::int64_t pad) { return pad < 0 || pad > kLimit; };
  const auto rank = static_cast<std::size_t>(in.rank(args.x));
  if (!in.failed() && (given.size() != 2 * rank || std::any_of(given.begin(), given.end(), is_bad)))
    in.fail(given.place, print(given.values), "two numbers from 0 on for each of " + std::to_string(rank) + " axes");
  for (std::size_t i = 0; i + 1 < given.size(); i += 2) {
    args.begin.values.push_back(given[i]);
    args.end.values.push_back(given[i + 1]);
  }
  return args;
}

ValueId read_pad(OperatorReader& in) {
  PadArgs args = read_paddings(in);
  if (!in.has(2)) return zero_padding(in, args.x, 0, args.begin, args.end, "");
  args.value = in.stored(2);
  return pad(in, args);
}

// Mirrored with the outermost elements included.
ValueId pad_symmetric(OperatorReader& in, const PadArgs& args) {
  ValueId x = args.x;
  for (int axis = 0; axis < in.rank(x) && !in.failed(); ++axis) {
    const std::int64_t size = in.shape(x)[axis], begin = args.begin[static_cast<std::size_t>(axis)],
                       end = args.end[static_cast<std::size_t>(axis)];
    if (begin > size || end > size)
      return in.fail("input 'paddings'", "more than the " + std::to_string(size) + " elements of an axis",
                     "at most as many");
    const std::string suffix = "axis" + std::to_string(axis);
    std::vector<ValueId> parts{x};
    if (end > 0) parts.push_back(slice(in, x, axis, {.start = size - 1, .step = -1, .size = end}, suffix + ".end"));
    if (begin > 0)
      parts.insert(parts.begin(),
                   slice(in, x, axis, {.start = begin - 1, .step = -1, .size = begin}, suffix + ".begin"));
    if (parts.size() > 1) x = concat(in, parts, axis, suffix);
  }
  return x;
}

ValueId read_mirror_pad(OperatorReader& in) {
  constexpr int kReflect = 0, kSymmetric = 1;
  const int mode = in.required_options<file::MirrorPadOptions>().mode();
  PadArgs args = read_paddings(in);
  args.mode = PadMode::reflect;
  if (mode == kSymmetric) return pad_symmetric(in, args);
  if (mode != kReflect) in.unsupported("option 'mode'", std::to_string(mode), "REFLECT (0) or SYMMETRIC (1)");
  return pad(in, args);
}

constexpr OperatorEntry kShapingTable[] = {
    {"BROADCAST_ARGS", 2, 2, 1, kStored, read_broadcast_args},
    {"CONCATENATION", 1, kAnyNumber, 1, kReal, read_concat},
    {"DENSIFY", 1, 1, 1, kStored, read_densify},
    {"EXPAND_DIMS", 2, 2, 1, kPairs, read_expand_dims},
    {"MIRROR_PAD", 2, 2, 1, kStored, read_mirror_pad},
    {"PACK", 1, kAnyNumber, 1, kStored, read_pack},
    {"PAD", 2, 2, 1, kStored, read_pad},
    {"PADV2", 3, 3, 1, kStored, read_pad},
    {"RANGE", 3, 3, 1, kStored, read_range},
    {"RANK", 1, 1, 1, kStored, read_rank},
    {"RESHAPE", 1, 2, 1, kPairs, read_reshape},
    {"SHAPE", 1, 1, 1, kStored, read_shape},
    {"SLICE", 3, 3, 1, kStored, read_slice},
    {"SPLIT", 2, 2, kAnyNumber, kStored, read_split},
    {"SPLIT_V", 3, 3, kAnyNumber, kStored, read_split_v},
    {"SQUEEZE", 1, 1, 1, kPairs, read_squeeze},
    {"STRIDED_SLICE", 4, 4, 1, kStored, read_strided_slice},
    {"TRANSPOSE", 2, 2, 1, kPairs, read_transpose},
    {"UNPACK", 1, 1, kAnyNumber, kStored, read_unpack},
};

}  // namespace

const std::span<const OperatorEntry> kShaping = kShapingTable;

ValueId zero_padding(OperatorReader& in, ValueId x, int input, Integers begin, Integers end, std::string_view suffix) {
  if (in.failed()) return {};
  Tensor zero(in.dtype(x), Shape{});
  const auto& quant = in.tensor(input).quant;
  if (is_8bit(in.dtype(x)) && quant) store_double(zero.view(), 0, quant->zero_point[0]);
  const ValueId value = in.constant(std::move(zero), "padding");
  return pad(in, {.x = x, .begin = std::move(begin), .end = std::move(end), .value = value}, suffix);
}

}  // namespace octavo::tflite_import
