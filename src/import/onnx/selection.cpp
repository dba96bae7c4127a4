// ONNX readers: elements picked or written by index, and what depends on positions. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/bitcast/bitcast.h"
#include "ops/det/det.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/topk/topk.h"

namespace octavo::onnx_import {
namespace {

using B = BinaryKind;

// An input of one number that must be known; `fallback` where it is left out.
Number constant_number(NodeReader& in, int index, std::string_view name, std::int64_t fallback) {
  if (!in.has(index)) return fallback;
  const Numbers given = in.constant_integers(index, name);
  if (!in.failed() && given.size() != 1) in.fail(given.place, print(given.values), "one number");
  return in.failed() ? Number(fallback) : Number(given[0].fixed(), given.place);
}

// The same where it depends on sizes that are open.
std::optional<Dim> open_number(NodeReader& in, int index, std::string_view name) {
  if (!in.has(index) || in.fact(in.value(index)).extents == nullptr) return std::nullopt;
  const Numbers given = in.constant_integers(index, name);
  const bool is_open = !in.failed() && given.size() == 1 && !given[0].is_number();
  return is_open ? std::optional<Dim>(given[0]) : std::nullopt;
}

// ---- picked ----

ValueId read_gather_nd(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1);
  return in.add(kGatherNd, GatherNdAttrs{.batch_dims = in.integer("batch_dims", 0)}, {x, indices});
}

ValueId read_topk(NodeReader& in) {
  const ValueId x = in.value(0);
  const bool is_attribute = in.opset() < 10;
  const std::optional<Dim> open_k = is_attribute ? std::nullopt : open_number(in, 1, "K");
  const Number k = is_attribute ? in.integer("k") : (open_k ? Number(0) : constant_number(in, 1, "K", 0));
  const Number axis = in.integer("axis", -1);
  const bool largest = in.flag("largest", true);
  in.ignore("sorted");  // any order will do where it is 0
  if (open_k) {
    const TopkAttrs attrs{.axis = in.axis(axis, in.rank(x)), .k = *open_k, .largest = largest};
    const std::vector<ValueId> top = in.add_exactly(kTopk, attrs, {x}, "top");
    if (in.failed()) return {};
    in.output(1, top[1]);
    return top[0];
  }
  const TopElements top = topk(in, x, axis, k, largest);
  in.output(1, top.positions);
  return top.values;
}

ValueId read_reverse_sequence(NodeReader& in) {
  const ValueId x = in.value(0), lengths = in.value(1, "sequence_lens");
  return reverse_sequence(
      in,
      {.x = x, .lengths = lengths, .time_axis = in.integer("time_axis", 0), .batch_axis = in.integer("batch_axis", 1)});
}

// ---- written ----

ScatterKind reduction(NodeReader& in) {
  const std::string name = in.text("reduction", "none");
  if (name == "none") return ScatterKind::assign;
  for (const ScatterKind kind : {ScatterKind::add, ScatterKind::mul, ScatterKind::max, ScatterKind::min}) {
    if (name == name_of(kind)) return kind;
  }
  in.fail("attribute 'reduction'", "'" + name + "'", "'none', 'add', 'mul', 'max' or 'min'");
  return ScatterKind::assign;
}

ValueId read_scatter_elements(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1), updates = in.value(2);
  const Number axis = in.integer("axis", 0);
  const ScatterKind kind = reduction(in);
  return in.add(kScatterElements, ScatterElementsAttrs{in.axis(axis, in.rank(x)), kind}, {x, indices, updates});
}

ValueId read_scatter_nd(NodeReader& in) {
  const ValueId x = in.value(0), indices = in.value(1), updates = in.value(2);
  return in.add(kScatterNd, ScatterNdAttrs{reduction(in)}, {x, indices, updates});
}

// ---- by position ----

// Of any type of numbers.
Number constant_depth(NodeReader& in) {
  const auto depth = in.constant_of(1, "depth");
  if (depth == nullptr || depth->elements() == 1)
    return {depth == nullptr ? 0 : to_int64s(depth->view())[0], quoted("input", "depth")};
  in.fail(quoted("input", "depth"), "shape " + depth->shape().to_string(), "one number");
  return 0;
}

ValueId read_one_hot(NodeReader& in) {
  const ValueId indices = in.value(0);
  const std::optional<Dim> open_depth = open_number(in, 1, "depth");
  const Dim depth = open_depth ? *open_depth : Dim(constant_depth(in).value);
  const Number axis = in.integer("axis", -1);
  const ValueId values = in.value(2);
  if (in.failed()) return {};
  if (in.shape(values) != OpenShape(Extents{2}))
    return in.fail("input 'values'", "shape " + in.shape(values).to_string(), "two values");
  const ValueId off = pick(in, values, 0, 0, "off"), on = pick(in, values, 0, 1, "on");
  return one_hot(in, {.indices = indices, .on = on, .off = off, .depth = depth, .axis = axis});
}

ValueId read_trilu(NodeReader& in) {
  const ValueId x = in.value(0);
  const Number diagonal = constant_number(in, 1, "k", 0);
  return trilu(in, x, diagonal, in.flag("upper", true));
}

ValueId read_eye_like(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto type = in.element_type("dtype", in.dtype(x));
  const Number diagonal = in.integer("k", 0);
  in.require_rank(x, 2, 2);
  if (in.failed() || !type) return {};
  return in.cast(diagonal_mask(in, B::equal, in.shape(x), diagonal), *type);
}

// Along one axis, or over all axes from it on as before opset 13.
ValueId read_hardmax(NodeReader& in) {
  const ValueId x = in.value(0);
  const bool is_new = in.opset() >= 13;
  const auto axis = static_cast<int>(in.axis(in.integer("axis", is_new ? -1 : 1), in.rank(x)));
  if (in.failed() || is_new) return hardmax(in, x, axis);
  const OpenShape shape = in.shape(x);
  const ValueId flat = in.reshape(x, {shape.elements(0, axis), shape.elements(axis, shape.rank())}, "flat");
  return in.reshape(hardmax(in, flat, 1), shape.to_vector(), "value");
}

// ---- sizes ----

// The middle of each axis, or zeros around it; an odd rest is at the end.
ValueId read_center_crop_pad(NodeReader& in) {
  ValueId x = in.value(0);
  const Numbers sizes = in.constant_integers(1, "shape");
  Integers axes;
  for (int i = 0; i < in.rank(x); ++i) axes.push_back(i);
  if (in.has("axes")) axes = in.axes(in.integers("axes"), in.rank(x));
  if (in.failed()) return {};
  if (sizes.size() != axes.size())
    return in.fail(sizes.place, print(sizes.values), "a size for each of " + std::to_string(axes.size()) + " axes");
  PadArgs padding{.axes = axes};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim size = in.shape(x)[static_cast<int>(axes[i])], wanted = sizes[i];
    if (wanted < 0) return in.fail(sizes.place, print(sizes.values), "sizes from 0 on");
    const Dim more = larger(wanted - size, 0), less = larger(size - wanted, 0);
    padding.begin.values.push_back(more / 2);
    padding.end.values.push_back(more - more / 2);
    const Range middle{.start = less / 2, .size = size - less};
    x = slice(in, x, axes[i], middle, "axis" + std::to_string(axes[i]));
  }
  padding.x = x;
  return axes.empty() ? x : pad(in, padding);
}

// ---- others ----

ValueId read_bitcast(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto to = in.element_type("to", std::nullopt);
  return to ? in.add_exactly(kBitcast, BitcastAttrs{*to}, {x}).front() : ValueId{};
}

ValueId read_det(NodeReader& in) { return in.add(kDet, NoAttrs{}, {in.value(0)}); }

ValueId read_einsum(NodeReader& in) {
  const std::string equation = in.text("equation", "");
  return einsum(in, equation, "attribute 'equation'", in.values());
}

constexpr Operator kSelectionTable[] = {
    {"BitCast", 26, 1, 1, read_bitcast},
    {"CenterCropPad", 18, 2, 2, read_center_crop_pad},
    {"Det", 11, 1, 1, read_det},
    {"Einsum", 12, 1, kAnyNumber, read_einsum},
    {"EyeLike", 9, 1, 1, read_eye_like},
    {"GatherND", 11, 2, 2, read_gather_nd},
    {"Hardmax", 1, 1, 1, read_hardmax},
    {"OneHot", 9, 3, 3, read_one_hot},
    {"ReverseSequence", 10, 2, 2, read_reverse_sequence},
    {"Scatter", 9, 3, 3, read_scatter_elements, 10},
    {"ScatterElements", 11, 3, 3, read_scatter_elements},
    {"ScatterND", 11, 3, 3, read_scatter_nd},
    {"TopK", 1, 1, 2, read_topk},
    {"Trilu", 14, 1, 2, read_trilu},
};

}  // namespace

const std::span<const Operator> kSelection = kSelectionTable;

}  // namespace octavo::onnx_import
