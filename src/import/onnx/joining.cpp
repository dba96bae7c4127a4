// ONNX readers: operators that join, cut and pick. Part of import/.
#include <algorithm>
#include <numeric>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;

// y = x[starts : starts + sizes * steps : steps].
ValueId add_slice(NodeReader& in, ValueId x, SliceAttrs attrs, std::string_view suffix) {
  return in.add(kSlice, std::move(attrs), {x}, suffix);
}

SliceAttrs whole(const Shape& shape) {
  return {.starts = Integers(static_cast<std::size_t>(shape.rank()), 0),
          .steps = Integers(static_cast<std::size_t>(shape.rank()), 1),
          .sizes = shape.to_vector()};
}

// Python's slice of one axis: positions from the end are negative, positions beyond the ends are cut.
void slice_axis(SliceAttrs& attrs, int axis, std::int64_t dim, std::int64_t start, std::int64_t end,
                std::int64_t step) {
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? dim : dim - 1;
  start = std::clamp(start < 0 ? start + dim : start, std::max<std::int64_t>(0, lowest),
                     std::max<std::int64_t>(0, highest));
  end = std::clamp(end < 0 ? end + dim : end, lowest, std::max(lowest, highest));
  const std::int64_t distance = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : -step;
  const std::int64_t size = distance > 0 ? (distance - 1) / stride + 1 : 0;
  attrs.starts[i] = size > 0 ? start : 0;
  attrs.steps[i] = size > 0 ? step : 1;
  attrs.sizes[i] = size;
}

Integers first_axes(std::size_t count) {
  Integers axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

PadMode pad_mode(NodeReader& in) {
  const std::string name = in.attributes.text("mode", "constant");
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    if (octavo::name_of(mode) == name) return mode;
  }
  in.fail("attribute 'mode'", "'" + name + "'", "constant, reflect, edge or wrap");
  return PadMode::constant;
}

// The sizes of a Split: given, or equal parts.
Integers split_sizes(NodeReader& in, std::int64_t dim) {
  if (in.opset() < 13 && in.attributes.has("split")) return in.attributes.integers("split");
  if (in.has(1)) return in.constant_integers(1, "split");
  const std::int64_t parts = in.attributes.integer("num_outputs", in.output_count());
  const bool may_have_rest = in.attributes.has("num_outputs");
  if (in.failed()) return {};
  if (parts != in.output_count() || parts < 1) {
    in.fail("attribute 'num_outputs'", std::to_string(parts),
            std::to_string(in.output_count()) + ", the number of outputs");
    return {};
  }
  if (dim % parts != 0 && !may_have_rest) {
    in.fail("outputs", std::to_string(parts) + " equal parts of " + std::to_string(dim), "a number that divides");
    return {};
  }
  const std::int64_t size = (dim + parts - 1) / parts;
  Integers sizes;
  for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(dim - i * size, 0, size));
  return sizes;
}

}  // namespace

void read_concat(NodeReader& in) {
  std::vector<ValueId> xs;
  for (int i = 0; i < in.input_count(); ++i) xs.push_back(in.value(i));
  const std::int64_t axis = in.axis("attribute 'axis'", in.attributes.integer("axis", 1), in.rank(xs.front()));
  if (!in.attributes.has("axis")) in.fail("attribute 'axis'", "none", "one");
  in.output(0, in.add(kConcat, ConcatAttrs{.axis = axis}, xs));
}

void read_gather(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1);
  const std::int64_t axis = in.axis("attribute 'axis'", in.attributes.integer("axis", 0), in.rank(x));
  in.output(0, in.add(kGather, GatherAttrs{.axis = axis}, {x, indices}));
}

void read_pad(NodeReader& in) {
  const ValueId x = in.value(0);
  const PadMode mode = pad_mode(in);
  const bool has_attributes = in.opset() < 11;
  const Integers pads = has_attributes ? in.attributes.integers("pads") : in.constant_integers(1, "pads");
  ValueId value = has_attributes ? ValueId{} : in.optional(2);
  if (has_attributes) value = in.scalar_like(x, in.attributes.number("value", 0.0f), "value");
  Integers axes = first_axes(static_cast<std::size_t>(in.rank(x)));
  if (in.has(3)) axes = in.axes("input 'axes'", in.constant_integers(3, "axes"), in.rank(x));
  if (in.failed()) return;
  if (pads.size() != 2 * axes.size()) return in.fail("pads", print(pads), std::to_string(2 * axes.size()) + " numbers");
  PadAttrs attrs{.mode = mode,
                 .begin = Integers(static_cast<std::size_t>(in.rank(x)), 0),
                 .end = Integers(static_cast<std::size_t>(in.rank(x)), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    attrs.begin[static_cast<std::size_t>(axes[i])] = pads[i];
    attrs.end[static_cast<std::size_t>(axes[i])] = pads[i + axes.size()];
  }
  if (value.exists() && in.shape(value).elements() != 1)
    return in.fail("input 'constant_value'", "shape " + in.shape(value).to_string(), "a scalar");
  in.output(0, in.add(kPad, attrs, {x, value.exists() ? in.reshape(value, {}, "scalar") : value}));
}

void read_slice(NodeReader& in) {
  const ValueId x = in.value(0);
  const bool has_attributes = in.opset() < 10;
  if (has_attributes && in.input_count() > 1) return in.fail("", std::to_string(in.input_count()) + " inputs", "1");
  const Integers starts = has_attributes ? in.attributes.integers("starts") : in.constant_integers(1, "starts");
  const Integers ends = has_attributes ? in.attributes.integers("ends") : in.constant_integers(2, "ends");
  Integers axes = first_axes(starts.size());
  if (has_attributes) axes = in.attributes.integers("axes", axes);
  else if (in.has(3)) axes = in.constant_integers(3, "axes");
  const Integers steps = in.has(4) ? in.constant_integers(4, "steps") : Integers(starts.size(), 1);
  axes = in.axes("axes", axes, in.rank(x));
  if (in.failed()) return;
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return in.fail("starts, ends, axes and steps", "lists of different lengths", "equally many numbers in each");
  }
  SliceAttrs attrs = whole(in.shape(x));
  constexpr std::int64_t kLargestStep = kMaxElements;  // further than any axis is long
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return in.fail("steps", "0", "another number");
    const int axis = static_cast<int>(axes[i]);
    slice_axis(attrs, axis, in.shape(x)[axis], starts[i], ends[i], std::clamp(steps[i], -kLargestStep, kLargestStep));
  }
  in.output(0, add_slice(in, x, std::move(attrs), ""));
}

void read_split(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto axis = static_cast<int>(in.axis("attribute 'axis'", in.attributes.integer("axis", 0), in.rank(x)));
  if (in.failed()) return;
  const std::int64_t dim = in.shape(x)[axis];
  const Integers sizes = split_sizes(in, dim);
  if (in.failed()) return;
  std::int64_t start = 0;
  SliceAttrs attrs = whole(in.shape(x));
  const bool are_as_many = static_cast<int>(sizes.size()) == in.output_count();
  for (std::size_t i = 0; i < sizes.size() && are_as_many; ++i) {
    if (sizes[i] < 0 || sizes[i] > dim - start) break;
    attrs.starts[static_cast<std::size_t>(axis)] = sizes[i] > 0 ? start : 0;
    attrs.sizes[static_cast<std::size_t>(axis)] = sizes[i];
    if (in.wants(static_cast<int>(i))) in.output(static_cast<int>(i), add_slice(in, x, attrs, std::to_string(i)));
    start += sizes[i];
  }
  if (!are_as_many || start != dim) {
    in.fail("split", print(sizes), std::to_string(in.output_count()) + " sizes whose sum is " + std::to_string(dim));
  }
}

}  // namespace octavo::onnx_import
