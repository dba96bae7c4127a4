// ATen readers: tensors of one number, positions, and parts of a tensor written anew. Part of import/.
#include "base/fields.h"
#include "import/pt2/operators.h"
#include "ops/expand/expand.h"

namespace octavo::pt2_import {
namespace {

using B = BinaryKind;

// ---- one number ----

// What says where a tensor is made, and how it lies there.
void ignore_places(NodeReader& in) {
  for (const char* name : {"layout", "device", "pin_memory", "memory_format", "stride", "physical_layout"})
    in.ignore(name);
}

ValueId filled(NodeReader& in, const Numbers& sizes, double number, DType type) {
  ignore_places(in);
  if (in.failed()) return {};
  Tensor value(type, Shape{});
  store_double(value.view(), 0, number);
  return expand(in, in.constant(std::move(value), "value"), sizes);
}

ValueId read_full(NodeReader& in) {
  const Numbers sizes = in.integers("size");
  const DType type = in.element_type("dtype", in.is_whole("fill_value") ? DType::s64 : DType::f32);
  return filled(in, sizes, in.number("fill_value", 0.0), type);
}

ValueId read_scalar(NodeReader& in) {
  const DType type = in.element_type("dtype", DType::f32);
  return filled(in, {}, in.number("s", 0.0), type);
}

template <int number>
ValueId read_filled(NodeReader& in) {
  const Numbers sizes = in.integers("size");
  return filled(in, sizes, number, in.element_type("dtype", DType::f32));
}

// Of the type of a tensor, and of its sizes where none are given.
ValueId filled_like(NodeReader& in, double number) {
  const ValueId x = in.value("self");
  const DType type = in.element_type("dtype", in.dtype(x));
  const Numbers sizes = in.has("size") ? in.integers("size") : Numbers(in.shape(x).to_vector());
  return filled(in, sizes, number, type);
}
template <int number>
ValueId read_filled_like(NodeReader& in) {
  return filled_like(in, number);
}
ValueId read_full_like(NodeReader& in) { return filled_like(in, in.number("fill_value", 0.0)); }

// ---- positions ----

// start, start + step, ... below end; of integers.
ValueId read_arange(NodeReader& in) {
  ignore_places(in);
  for (const char* name : {"start", "end", "step"}) {
    if (in.has(name) && !in.is_whole(name))
      in.unsupported("argument '" + std::string(name) + "'", "a number that is not whole", "whole ones");
  }
  if (in.failed()) return {};
  const Dim start = in.extent("start", 0), end = in.extent("end");
  const Number step = in.integer("step", 1);
  const DType type = in.element_type("dtype", DType::s64);
  if (step.value < 1) return in.unsupported(step.place, std::to_string(step.value), "at least 1");
  if (in.failed()) return {};
  const Dim count = larger((end - start + (step.value - 1)) / step.value, 0);
  ValueId y = counted(in, count, DType::s64, "counted");
  if (step.value != 1) y = in.binary(B::mul, y, in.constant(Tensor::scalar(step.value), "step"), "steps");
  if (!is_zero(start)) y = in.binary(B::add, y, in.reshape(in.extents({start}, "start"), {}, "first"), "moved");
  return in.cast(y, type);
}

// Each element `repeats` times, one after the other.
ValueId read_repeat_interleave(NodeReader& in) {
  ValueId x = in.value("self");
  const Number repeats = in.integer("repeats");
  in.ignore("output_size");
  if (!in.has("dim")) x = in.failed() ? x : in.reshape(x, {in.shape(x).elements()}, "flat");
  const std::int64_t axis = in.has("dim") ? in.axis(in.integer("dim"), in.rank(x)) : 0;
  if (repeats.value < 0) in.fail(repeats.place, std::to_string(repeats.value), "at least 0");
  if (in.failed()) return {};
  Extents dims = in.shape(x).to_vector();
  const ValueId apart = unsqueeze(in, x, Integers{axis + 1}, "apart");
  if (in.failed()) return {};
  Extents wide = in.shape(apart).to_vector();
  wide[static_cast<std::size_t>(axis) + 1] = repeats.value;
  dims[static_cast<std::size_t>(axis)] *= repeats.value;
  return in.reshape(expand(in, apart, wide, "wide"), dims);
}

// ---- parts written anew ----

ValueId read_slice_scatter(NodeReader& in) {
  const ValueId x = in.value("self"), part = in.value("src");
  const std::int64_t axis = in.axis(in.integer("dim", 0), in.rank(x));
  const std::int64_t start = in.integer("start", 0), end = in.integer("end", kFar);
  const Number step = in.integer("step", 1);
  if (step != 1) in.unsupported(step.place, std::to_string(step.value), "1");
  if (in.failed()) return {};
  const Range range = range_of_slice(in.shape(x)[static_cast<int>(axis)], start, end, 1);
  if (in.rank(part) == in.rank(x) && in.shape(part)[static_cast<int>(axis)] != range.size)
    return in.fail("argument 'src'", "shape " + in.shape(part).to_string(),
                   to_string(range.size) + " along axis " + std::to_string(axis));
  return replaced(in, x, part, axis, range.start, "whole");
}

ValueId read_select_scatter(NodeReader& in) {
  const ValueId x = in.value("self"), part = in.value("src");
  const std::int64_t axis = in.axis(in.integer("dim"), in.rank(x));
  const Number index = in.integer("index");
  if (in.failed()) return {};
  const Dim size = in.shape(x)[static_cast<int>(axis)];
  if (index.value < 0 - size || index.value >= size)
    return in.fail(index.place, std::to_string(index.value), "an index of an axis of " + to_string(size));
  const Dim at = index.value < 0 ? size + index.value : Dim(index.value);
  return replaced(in, x, unsqueeze(in, part, Integers{axis}, "part"), axis, at, "whole");
}

constexpr Operator kConstantsTable[] = {
    {"aten.arange", "default start start_step", kFresh, read_arange},
    {"aten.empty", "memory_format", kFresh, read_filled<0>},  // whoever reads one may find anything
    {"aten.empty_like", "default", kFresh, read_filled_like<0>},
    {"aten.empty_permuted", "default", kFresh, read_filled<0>},
    {"aten.empty_strided", "default", kFresh, read_filled<0>},
    {"aten.full", "default", kFresh, read_full},
    {"aten.full_like", "default", kFresh, read_full_like},
    {"aten.new_empty", "default", kFresh, read_filled_like<0>},
    {"aten.new_full", "default", kFresh, read_full_like},
    {"aten.new_ones", "default", kFresh, read_filled_like<1>},
    {"aten.new_zeros", "default", kFresh, read_filled_like<0>},
    {"aten.ones", "default", kFresh, read_filled<1>},
    {"aten.ones_like", "default", kFresh, read_filled_like<1>},
    {"aten.repeat_interleave", "self_int", kFresh, read_repeat_interleave},
    {"aten.scalar_tensor", "default", kFresh, read_scalar},
    {"aten.select_scatter", "default", kFresh, read_select_scatter},
    {"aten.slice_scatter", "default", kFresh, read_slice_scatter},
    {"aten.zero", "default", kFresh, read_filled_like<0>},
    {"aten.zeros", "default", kFresh, read_filled<0>},
    {"aten.zeros_like", "default", kFresh, read_filled_like<0>},
};

}  // namespace

const std::span<const Operator> kConstants = kConstantsTable;

ValueId replaced(NodeReader& in, ValueId x, ValueId part, std::int64_t axis, const Dim& start,
                 std::string_view suffix) {
  if (in.failed()) return {};
  const auto along = static_cast<int>(axis);
  Extents wanted = in.shape(x).to_vector();
  const Dim size = in.rank(part) == in.rank(x) ? in.shape(part)[along] : Dim(0),
            whole_size = wanted[static_cast<std::size_t>(axis)];
  wanted[static_cast<std::size_t>(axis)] = size;
  if (in.shape(part) != OpenShape(wanted))
    return in.fail(in.place_of(part), "shape " + in.shape(part).to_string(), "that of the part it replaces");
  std::vector<ValueId> parts;
  if (start > 0) parts.push_back(slice(in, x, axis, Range{.start = 0, .size = start}, std::string(suffix) + ".before"));
  parts.push_back(part);
  const Dim end = start + size;
  if (end < whole_size)
    parts.push_back(slice(in, x, axis, Range{.start = end, .size = whole_size - end}, std::string(suffix) + ".after"));
  return concat(in, parts, axis, suffix);
}

}  // namespace octavo::pt2_import
