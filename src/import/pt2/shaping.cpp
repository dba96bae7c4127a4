// ATen readers: operators that move, cut and join elements. Part of import/.

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "ops/expand/expand.h"

namespace octavo::pt2_import {
namespace {

// ---- shapes ----

ValueId read_reshape(NodeReader& in) {
  const ValueId x = in.value("self");
  return reshape_to(in, x, in.integers(in.has("shape") ? "shape" : "size"));
}

ValueId read_reshape_as(NodeReader& in) {
  const ValueId x = in.value("self"), other = in.value("other");
  return in.failed() ? ValueId{} : reshape_to(in, x, Numbers(in.shape(other).to_vector(), "argument 'other'"));
}

// Axes [first, last] of x become these sizes, of which one may be -1.
ValueId reshape_axes(NodeReader& in, ValueId x, std::int64_t first, std::int64_t last, Numbers sizes) {
  if (in.failed()) return {};
  const OpenShape& shape = in.shape(x);
  const auto own = completed(sizes.values, shape.elements(static_cast<int>(first), static_cast<int>(last) + 1));
  if (!own) return in.fail(sizes.place, print(sizes.values) + " for " + shape.to_string(), "sizes that divide");
  Extents dims(shape.begin(), shape.begin() + first);
  dims.insert(dims.end(), own->begin(), own->end());
  dims.insert(dims.end(), shape.begin() + last + 1, shape.end());
  return in.reshape(x, dims);
}

ValueId read_flatten(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number start = in.integer("start_dim", 0), end = in.integer("end_dim", -1);
  if (!in.failed() && in.rank(x) == 0) return in.reshape(x, {1});
  const std::int64_t first = in.axis(start, in.rank(x)), last = in.axis(end, in.rank(x));
  if (!in.failed() && first > last) return in.fail(end.place, std::to_string(end.value), "an axis after 'start_dim'");
  return reshape_axes(in, x, first, last, Integers{-1});
}

ValueId read_unflatten(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t axis = in.axis(in.integer("dim"), in.rank(x));
  return reshape_axes(in, x, axis, axis, in.integers("sizes"));
}

// Axes that are named and do not have size 1 stay.
ValueId read_squeeze(NodeReader& in) {
  const ValueId x = in.value("self");
  return squeeze(in, x, in.has("dim") ? std::optional(in.integers("dim")) : std::nullopt, NotOne::stays);
}

ValueId read_unsqueeze(NodeReader& in) {
  const ValueId x = in.value("self");
  return unsqueeze(in, x, in.integers("dim"));
}

ValueId read_permute(NodeReader& in) {
  const ValueId x = in.value("self");
  return transpose(in, x, in.integers("dims"));
}

ValueId read_transpose(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t a = in.axis(in.integer("dim0"), in.rank(x)), b = in.axis(in.integer("dim1"), in.rank(x));
  return swap_axes(in, x, a, b);
}

// The axes of a matrix swapped.
ValueId read_t(NodeReader& in) {
  const ValueId x = in.value("self");
  in.require_rank(x, 0, 2);
  return in.rank(x) < 2 ? x : swap_axes(in, x, 0, 1);
}

// -1 keeps a dimension.
ValueId read_expand(NodeReader& in) {
  const ValueId x = in.value("self");
  Numbers dims = in.integers("size");
  in.ignore("implicit");
  if (in.failed()) return {};
  const int added = static_cast<int>(dims.size()) - in.rank(x);
  if (added < 0) return in.fail(dims.place, print(dims.values), "at least " + std::to_string(in.rank(x)) + " sizes");
  for (int i = added; i < static_cast<int>(dims.size()); ++i) {
    Dim& dim = dims.values[static_cast<std::size_t>(i)];
    if (dim.is_number() && dim == -1) dim = in.shape(x)[i - added];
  }
  return in.add(kExpand, ExpandAttrs{.shape = dims.values}, {x});
}

ValueId read_expand_as(NodeReader& in) {
  const ValueId x = in.value("self"), other = in.value("other");
  return in.failed() ? ValueId{} : in.add(kExpand, ExpandAttrs{.shape = in.shape(other).to_vector()}, {x});
}

ValueId read_repeat(NodeReader& in) {
  const ValueId x = in.value("self");
  return tile(in, x, in.integers("repeats"));
}

// Strides are about memory, which a graph does not have. Read is what the decomposition of an average pool writes
// behind a mean: the same sizes, densely.
ValueId read_as_strided(NodeReader& in) {
  const ValueId x = in.value("self");
  const Numbers sizes = in.integers("size"), strides = in.integers("stride");
  const std::int64_t offset = in.integer("storage_offset", 0);
  if (in.failed()) return {};
  const Extents dense = in.shape(x).strides();
  bool is_same = in.built().graph.producer_if(x, kReduce) != nullptr && sizes.values == in.shape(x).to_vector() &&
                 strides.size() == sizes.size() && offset == 0;
  for (std::size_t i = 0; i < sizes.size() && is_same; ++i) is_same = sizes[i] == 1 || strides[i] == dense[i];
  if (is_same) return x;
  return in.unsupported(strides.place, print(strides.values) + " of sizes " + print(sizes.values), "a mean as it is");
}

// ---- parts ----

ValueId read_slice(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t axis = in.axis(in.integer("dim", 0), in.rank(x));
  const Dim start = in.extent("start", 0), end = in.extent("end", kFar);
  const Number step = in.integer("step", 1);
  if (step < 1) in.fail(step.place, std::to_string(step.value), "at least 1");
  if (in.failed()) return {};
  const Range range = range_of_slice(in.shape(x)[static_cast<int>(axis)], start, end, step);
  if (step == 1) in.shows({.axis = axis, .range = range});
  return slice(in, x, axis, range);
}

ValueId read_select(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t axis = in.axis(in.integer("dim", 0), in.rank(x));
  const Number index = in.integer("index");
  if (in.failed()) return {};
  const Dim first = index.value < 0 ? in.shape(x)[static_cast<int>(axis)] + index.value : Dim(index.value);
  in.shows({.axis = axis, .range = {.start = first, .size = 1}, .is_index = true});
  return pick(in, x, axis, index);
}

ValueId read_unbind(NodeReader& in) {
  const ValueId x = in.value("self");
  unstack(in, x, in.integer("dim", 0));
  return {};
}

// Parts of `each`, the last one smaller.
ValueId split_evenly(NodeReader& in, ValueId x, const Number& axis, std::int64_t each) {
  const auto normal = static_cast<int>(in.axis(axis, in.rank(x)));
  if (in.failed()) return {};
  const std::int64_t size = in.shape(x)[normal], count = each < 1 ? 0 : (size + each - 1) / each;
  if (count != in.output_count())  // before memory is taken for them
    return in.fail("", std::to_string(in.output_count()) + " results",
                   std::to_string(count) + " parts of " + std::to_string(each));
  Integers sizes(static_cast<std::size_t>(count), each);
  if (count > 0) sizes.back() = size - each * (count - 1);
  split(in, x, axis, sizes);
  return {};
}

ValueId read_chunk(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number axis = in.integer("dim", 0), chunks = in.integer("chunks");
  const auto normal = static_cast<int>(in.axis(axis, in.rank(x)));
  if (chunks < 1) in.fail(chunks.place, std::to_string(chunks.value), "at least 1");
  if (in.failed()) return {};
  const std::int64_t size = in.shape(x)[normal];
  return split_evenly(in, x, axis, size / chunks + (size % chunks != 0 ? 1 : 0));
}

ValueId read_split(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number axis = in.integer("dim", 0);
  const bool is_list = in.has("split_sizes");
  const Numbers sizes = in.integers(is_list ? "split_sizes" : "split_size");
  if (!is_list && sizes.size() == 1) return split_evenly(in, x, axis, sizes[0]);
  split(in, x, axis, sizes);
  return {};
}

ValueId read_cat(NodeReader& in) {
  const auto parts = in.values("tensors");
  return concat(in, parts, in.integer("dim", 0));
}

ValueId read_stack(NodeReader& in) {
  const auto parts = in.values("tensors");
  return stack(in, parts, in.integer("dim", 0));
}

// Each position of a grid in turn, one tensor for each of the grid's axes.
ValueId read_meshgrid(NodeReader& in) {
  const std::vector<ValueId> axes = in.values("tensors");
  const std::string order = in.text("indexing", "ij");
  for (const ValueId axis : axes) in.require_rank(axis, 0, 1);
  if (axes.size() > kMaxRank)
    in.fail("argument 'tensors'", std::to_string(axes.size()), "at most " + std::to_string(kMaxRank));
  if (order != "ij" && order != "xy") in.fail("argument 'indexing'", "'" + order + "'", "'ij' or 'xy'");
  if (in.failed()) return {};
  Extents sizes;
  std::vector<std::size_t> places;  // of each tensor's axis
  for (std::size_t i = 0; i < axes.size(); ++i)
    places.push_back(order == "xy" && i < 2 && axes.size() > 1 ? 1 - i : i), sizes.emplace_back(1);
  for (std::size_t i = 0; i < axes.size(); ++i) sizes[places[i]] = in.shape(axes[i]).elements();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Extents alone(axes.size(), Dim(1));
    alone[places[i]] = sizes[places[i]];
    const std::string name = "axis" + std::to_string(i);
    in.output(static_cast<int>(i), expand(in, in.reshape(axes[i], alone, name), sizes, name + ".expanded"));
  }
  return {};
}

// What is written: in the type and shape of what it replaces.
ValueId read_copy(NodeReader& in) {
  const ValueId x = in.value("self"), from = in.value_or_number(in.has("src") ? "src" : "value", x);
  in.ignore("non_blocking");
  if (in.failed()) return {};
  return expand(in, in.cast(from, in.dtype(x), "cast"), in.shape(x).to_vector());
}

// Pairs of begin and end, from the last axis on.
ValueId read_pad(NodeReader& in) {
  PadArgs args{.x = in.value("self")};
  const Numbers pads = in.integers("pad");
  const std::string mode = in.text("mode", "constant");
  const double value = in.number("value", 0.0);
  if (in.failed()) return {};
  const int rank = in.rank(args.x);
  if (pads.size() % 2 != 0 || static_cast<int>(pads.size()) > 2 * rank)
    return in.fail(pads.place, print(pads.values), "two numbers for each of the last axes");
  args.begin = Numbers(Integers(static_cast<std::size_t>(rank), 0), pads.place);
  args.end = args.begin;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    const std::size_t axis = static_cast<std::size_t>(rank) - 1 - i;
    args.begin.values[axis] = pads[2 * i];
    args.end.values[axis] = pads[2 * i + 1];
  }
  if (mode == "constant") args.value = in.scalar_like(args.x, value, "value");
  else if (mode == "reflect") args.mode = PadMode::reflect;
  else if (mode == "replicate") args.mode = PadMode::edge;
  else if (mode == "circular") args.mode = PadMode::wrap;
  else return in.fail("argument 'mode'", "'" + mode + "'", "'constant', 'reflect', 'replicate' or 'circular'");
  return pad(in, args);
}

// What may share memory with its argument counts as sharing it.

constexpr Operator kShapingTable[] = {
    {"aten._unsafe_view", "default", kView, read_reshape},
    {"aten.as_strided", "default", kView, read_as_strided},
    {"aten.cat", "default", kFresh, read_cat},
    {"aten.chunk", "default", kView, read_chunk},
    {"aten.concat", "default", kFresh, read_cat},
    {"aten.constant_pad_nd", "default", kFresh, read_pad},
    {"aten.copy", "default", kFresh, read_copy},
    {"aten.expand", "default", kView, read_expand},
    {"aten.expand_as", "default", kView, read_expand_as},
    {"aten.fill", "Scalar Tensor", kFresh, read_copy},
    {"aten.flatten", "using_ints", kView, read_flatten},
    {"aten.meshgrid", "default indexing", kFresh, read_meshgrid},
    {"aten.pad", "default", kFresh, read_pad},
    {"aten.permute", "default", kView, read_permute},
    {"aten.repeat", "default", kFresh, read_repeat},
    {"aten.reshape", "default", kView, read_reshape},
    {"aten.reshape_as", "default", kView, read_reshape_as},
    {"aten.select", "int", kView, read_select},
    {"aten.slice", "Tensor", kView, read_slice},
    {"aten.split", "Tensor", kView, read_split},
    {"aten.split_with_sizes", "default", kView, read_split},
    {"aten.squeeze", "default dim dims", kView, read_squeeze},
    {"aten.stack", "default", kFresh, read_stack},
    {"aten.t", "default", kView, read_t},
    {"aten.transpose", "int", kView, read_transpose},
    {"aten.unbind", "int", kView, read_unbind},
    {"aten.unflatten", "int", kView, read_unflatten},
    {"aten.unsqueeze", "default", kView, read_unsqueeze},
    {"aten.view", "default", kView, read_reshape},
    {"aten.view_as", "default", kView, read_reshape_as},
};

}  // namespace

const std::span<const Operator> kShaping = kShapingTable;

}  // namespace octavo::pt2_import
