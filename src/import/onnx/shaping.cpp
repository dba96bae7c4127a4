// ONNX readers: operators that move, cut and join elements, and constants. Part of import/.
#include <algorithm>
#include <numeric>

#include "base/fields.h"
#include "graph/open_shape.h"
#include "import/onnx/operators.h"
#include "import/onnx/tensor.h"
#include "ops/dynamic_slice/dynamic_slice.h"
#include "ops/expand/expand.h"

namespace octavo::onnx_import {
namespace {

// ---- shapes ----

ValueId read_reshape(NodeReader& in) {
  const ValueId x = in.value(0);
  Numbers dims = in.constant_integers(1, "shape");
  const bool keeps_zeros = in.opset() >= 14 && in.flag("allowzero");
  const bool has_rest = std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return is_same(dim, -1); });
  for (std::size_t i = 0; i < dims.size() && !keeps_zeros && !in.failed(); ++i) {
    const auto axis = static_cast<int>(i);
    const bool can_copy = axis < in.rank(x);
    // An extent that is 0 in a run is a 0 of the file, too, where it matters: beside a -1.
    const bool matters = has_rest && can_copy && !is_same(dims.values[i], in.shape(x)[axis]);
    if (!(matters ? dims.values[i] == 0 : is_zero(dims.values[i]))) continue;
    if (!can_copy) return in.fail(dims.place, print(dims.values), "0 only where the input has a dimension to copy");
    dims.values[i] = in.shape(x)[axis];
  }
  return reshape_to(in, x, dims);
}

ValueId read_flatten(NodeReader& in) {
  const ValueId x = in.value(0);
  const std::int64_t given = in.integer("axis", 1);
  const int rank = in.rank(x);
  if (given < -rank || given > rank)
    return in.fail("attribute 'axis'", std::to_string(given), "an axis of a value of rank " + std::to_string(rank));
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  return in.reshape(x, {in.shape(x).elements(0, axis), in.shape(x).elements(axis, rank)});
}

ValueId read_squeeze(NodeReader& in) {
  const ValueId x = in.value(0);
  const bool takes_all = in.opset() < 13 ? !in.has("axes") : !in.has(1);
  return squeeze(in, x, takes_all ? std::nullopt : std::optional(in.integers_since(13, "axes", 1)));
}

ValueId read_unsqueeze(NodeReader& in) {
  const ValueId x = in.value(0);
  return unsqueeze(in, x, in.integers_since(13, "axes", 1));
}

ValueId read_transpose(NodeReader& in) {
  const ValueId x = in.value(0);
  Integers reversed(static_cast<std::size_t>(in.rank(x)));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return transpose(in, x, in.integers("perm", reversed));
}

ValueId read_expand(NodeReader& in) {
  const ValueId x = in.value(0);
  return expand(in, x, in.constant_integers(1, "shape"));
}

ValueId read_tile(NodeReader& in) {
  const ValueId x = in.value(0);
  const Numbers repeats = in.constant_integers(1, "repeats");
  if (!in.failed() && static_cast<int>(repeats.size()) != in.rank(x))
    in.fail(repeats.place, print(repeats.values), "one number per axis of " + in.shape(x).to_string());
  return tile(in, x, repeats);
}

// ---- parts ----

Integers first_axes(std::size_t count) {
  Integers axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

ValueId read_concat(NodeReader& in) {
  const auto parts = in.values();
  return concat(in, parts, in.integer("axis"));
}

ValueId read_gather(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1);
  return gather(in, x, indices, in.integer("axis", 0));
}

ValueId read_gather_elements(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1);
  return gather_elements(in, x, indices, in.integer("axis", 0));
}

// Axes and steps are known, starts and ends are computed.
ValueId read_dynamic_slice(NodeReader& in) {
  const ValueId x = in.value(0), starts = in.cast(in.value(1, "starts"), DType::s64, "starts");
  const ValueId ends = in.cast(in.value(2, "ends"), DType::s64, "ends");
  in.require_rank(starts, 1, 1);
  if (in.failed()) return {};
  const auto count = static_cast<std::size_t>(in.shape(starts)[0].fixed());
  if (count > static_cast<std::size_t>(in.rank(x)))
    return in.fail("input 'starts'", std::to_string(count) + " numbers", "at most one for each axis");
  const Numbers named = in.has(3) ? in.constant_integers(3, "axes") : Numbers(first_axes(count));
  const Numbers steps = in.has(4) ? in.constant_integers(4, "steps") : Numbers(Integers(count, 1));
  DynamicSliceAttrs attrs{.axes = in.axes(named, in.rank(x)), .steps = steps};
  std::vector<int> axes(attrs.axes.begin(), attrs.axes.end());
  const auto made = in.add_exactly(kDynamicSlice, std::move(attrs), {x, starts, ends});
  return in.with_shape(made[0], made[1], std::move(axes));
}

ValueId read_slice(NodeReader& in) {
  const bool has_attributes = in.opset() < 10;
  const auto is_computed = [&](int index) { return in.has(index) && !in.is_constant(in.value(index)); };
  if (!has_attributes && (is_computed(1) || is_computed(2))) return read_dynamic_slice(in);
  const ValueId x = in.value(0);
  if (has_attributes && in.input_count() > 1) return in.fail("", std::to_string(in.input_count()) + " inputs", "1");
  const Numbers starts = has_attributes ? in.integers("starts") : in.constant_integers(1, "starts");
  const Numbers ends = has_attributes ? in.integers("ends") : in.constant_integers(2, "ends");
  Numbers named = first_axes(starts.size());
  if (has_attributes) named = in.integers("axes", named);
  else if (in.has(3)) named = in.constant_integers(3, "axes");
  const Numbers steps = in.has(4) ? in.constant_integers(4, "steps") : Numbers(Integers(starts.size(), 1));
  const Integers axes = in.axes(named, in.rank(x));
  if (in.failed()) return {};
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return in.fail("starts, ends, axes and steps", "lists of different lengths", "equally many numbers in each");
  std::vector<Range> ranges = whole(in.shape(x));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return in.fail("steps", "0", "another number");
    Range& range = ranges[static_cast<std::size_t>(axes[i])];
    range = range_of_slice(range.size, starts[i], ends[i], steps[i].fixed());
  }
  return slice(in, x, ranges);
}

ValueId read_split(NodeReader& in) {
  const ValueId x = in.value(0);
  const Number axis = in.integer("axis", 0);
  const bool has_sizes = in.opset() < 13 ? in.has("split") : in.has(1);
  if (has_sizes) {
    split(in, x, axis, in.integers_since(13, "split", 1));
    return {};
  }
  const bool may_have_rest = in.has("num_outputs");
  const std::int64_t parts = in.integer("num_outputs", in.output_count());
  if (parts != in.output_count() || parts < 1)
    return in.fail("attribute 'num_outputs'", std::to_string(parts),
                   std::to_string(in.output_count()) + ", the number of outputs");
  const auto normal = static_cast<int>(in.axis(axis, in.rank(x)));
  if (in.failed()) return {};
  const Dim dim = in.shape(x)[normal];
  if (!may_have_rest && dim % parts != 0)
    return in.fail("outputs", std::to_string(parts) + " equal parts of " + to_string(dim), "a number that divides");
  const Dim size = (dim + parts - 1) / parts;
  Extents sizes;
  for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(smaller(larger(dim - i * size, 0), size));
  split(in, x, axis, sizes);
  return {};
}

PadMode pad_mode(NodeReader& in) {
  const std::string name = in.text("mode", "constant");
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    if (octavo::name_of(mode) == name) return mode;
  }
  in.fail("attribute 'mode'", "'" + name + "'", "constant, reflect, edge or wrap");
  return PadMode::constant;
}

ValueId read_pad(NodeReader& in) {
  PadArgs args{.x = in.value(0), .mode = pad_mode(in)};
  const Numbers pads = in.integers_since(11, "pads", 1);
  args.value =
      in.opset() < 11 ? in.scalar_like(args.x, in.number("value", 0.0f), "value") : in.optional(2, "constant_value");
  if (in.has(3)) args.axes = in.axes(in.constant_integers(3, "axes"), in.rank(args.x));
  const auto half = static_cast<std::ptrdiff_t>((pads.size() + 1) / 2);
  args.begin = {Extents(pads.begin(), pads.begin() + half), pads.place};
  args.end = {Extents(pads.begin() + half, pads.end()), pads.place};
  return pad(in, args);
}

// ---- constants, and what is constant because every shape is known ----

// Records the errors of a tensor inside a node.
ValueId add_tensor(NodeReader& in, const onnx::TensorProto& proto) {
  auto tensor = read_tensor(proto, in.folder(), "its tensor");
  if (tensor) return in.constant(*std::move(tensor), "value");
  for (const Error& error : tensor.errors()) {
    if (error.kind == ErrorKind::unsupported) in.unsupported(error.where, error.found, error.expected);
    else in.fail(error.where, error.found, error.expected);
  }
  return {};
}

ValueId read_constant(NodeReader& in) {
  if (const auto* tensor = in.tensor("value")) return add_tensor(in, *tensor);
  if (in.has("value_int")) return in.constant(Tensor::scalar<std::int64_t>(in.integer("value_int", 0)), "value");
  if (in.has("value_ints")) return in.extents(in.integers("value_ints").values, "value");
  if (in.has("value_float")) return in.constant(Tensor::scalar<float>(in.number("value_float", 0.0f)), "value");
  if (in.has("value_floats")) {
    const std::vector<float> values = in.numbers("value_floats");
    return in.constant(Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values), "value");
  }
  return in.unsupported("attributes", "no value that Octavo reads",
                        "value, value_int, value_ints, value_float or value_floats");
}

ValueId read_constant_of_shape(NodeReader& in) {
  const Numbers dims = in.constant_integers(0, "shape");
  const auto* proto = in.tensor("value");
  const ValueId value = proto != nullptr ? add_tensor(in, *proto) : in.constant(Tensor::scalar<float>(0.0f), "value");
  if (in.failed()) return {};
  if (in.shape(value).elements() != 1)
    return in.fail("attribute 'value'", "shape " + in.shape(value).to_string(), "one element");
  return in.add(kExpand, ExpandAttrs{.shape = dims.values}, {in.reshape(value, {}, "scalar")});
}

ValueId read_range(NodeReader& in) {
  const ValueId start = in.value(0, "start"), limit = in.value(1, "limit");
  return range(in, start, limit, in.value(2, "delta"));
}

ValueId read_shape(NodeReader& in) {
  const ValueId x = in.value(0);
  const Range part = range_of_slice(in.rank(x), in.integer("start", 0).value, in.integer("end", kFar).value, 1);
  const Dim* const first = in.shape(x).begin() + part.start.fixed();
  return in.extents({first, first + part.size.fixed()}, "value");
}

ValueId read_size(NodeReader& in) {
  return in.reshape(in.extents({in.shape(in.value(0)).elements()}, "list"), {}, "value");
}

constexpr Operator kShapingTable[] = {
    {"Concat", 4, 1, kAnyNumber, read_concat},
    {"Constant", 1, 0, 0, read_constant},
    {"ConstantOfShape", 9, 1, 1, read_constant_of_shape},
    {"Expand", 8, 2, 2, read_expand},
    {"Flatten", 1, 1, 1, read_flatten},
    {"Gather", 1, 2, 2, read_gather},
    {"GatherElements", 11, 2, 2, read_gather_elements},
    {"Pad", 2, 1, 4, read_pad},
    {"Range", 11, 3, 3, read_range},
    {"Reshape", 5, 2, 2, read_reshape},
    {"Shape", 1, 1, 1, read_shape},
    {"Size", 1, 1, 1, read_size},
    {"Slice", 1, 1, 5, read_slice},
    {"Split", 2, 1, 2, read_split},
    {"Squeeze", 1, 1, 2, read_squeeze},
    {"Tile", 6, 2, 2, read_tile},
    {"Transpose", 1, 1, 1, read_transpose},
    {"Unsqueeze", 1, 1, 2, read_unsqueeze},
};

}  // namespace

const std::span<const Operator> kShaping = kShapingTable;

}  // namespace octavo::onnx_import
