// ATen readers: elements picked and written by index, and what depends on positions. Part of import/.
#include <algorithm>
#include <limits>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "ops/cumsum/cumsum.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/where/where.h"

namespace octavo::pt2_import {
namespace {

using B = BinaryKind;

// ---- picked ----

ValueId read_gather(NodeReader& in) {
  const ValueId x = in.value("self"), indices = in.value("index");
  in.ignore("sparse_grad");
  return gather_elements(in, x, indices, in.integer("dim"));
}

ValueId read_index_select(NodeReader& in) {
  const ValueId x = in.value("self");
  return gather(in, x, in.value("index"), in.integer("dim"));
}

// Indices of the leading axes, broadcast and side by side: [..., as many].
ValueId joined_indices(NodeReader& in, const std::vector<ValueId>& given) {
  std::optional<OpenShape> shape;
  std::vector<ValueId> lists;
  for (const ValueId index : given) {
    if (in.failed()) return {};
    if (in.dtype(index) == DType::boolean)
      return in.unsupported(in.place_of(index), "bool", "integers: a mask gives as many elements as are true");
    shape = shape ? broadcast(*shape, in.shape(index)) : in.shape(index);
    if (!shape) return in.fail(in.place_of(index), in.shape(index).to_string(), "shapes that broadcast");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string name = "index" + std::to_string(i);
    const ValueId whole = expand(in, in.cast(given[i], DType::s64, name), shape->to_vector(), name + ".wide");
    lists.push_back(unsqueeze(in, whole, Integers{shape->rank()}, name + ".apart"));
  }
  return concat(in, lists, std::int64_t{shape->rank()}, "indices");
}

// x[a, b, ...]; or x[:, a], of one axis.
ValueId read_index(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::vector<ValueId> indices = in.optional_values("indices");
  if (in.failed()) return {};
  const auto is_given = [](ValueId index) { return index.exists(); };
  const auto first = std::find_if(indices.begin(), indices.end(), is_given);
  const auto given = std::count_if(indices.begin(), indices.end(), is_given);
  if (given == 1 && in.dtype(*first) != DType::boolean) return gather(in, x, *first, first - indices.begin());
  return in.add(kGatherNd, GatherNdAttrs{}, {x, joined_indices(in, in.values("indices"))});
}

ValueId read_topk(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number k = in.integer("k"), axis = in.integer("dim", -1);
  in.ignore("sorted");
  const TopElements top = topk(in, x, axis, k, in.flag("largest", true));
  in.output(1, top.positions);
  return top.values;
}

ValueId read_flip(NodeReader& in) {
  const ValueId x = in.value("self");
  return flip(in, x, in.axes(in.integers("dims"), in.rank(x)));
}

// What leaves an axis at its end comes in at its beginning.
ValueId read_roll(NodeReader& in) {
  ValueId x = in.value("self");
  const Numbers shifts = in.integers("shifts"), dims = in.integers("dims");
  const Integers axes = in.axes(dims, in.rank(x));
  if (in.failed()) return {};
  if (axes.size() != shifts.size() || axes.empty())
    return in.unsupported(dims.place, print(dims.values), "an axis for each shift");
  for (std::size_t i = 0; i < axes.size() && !in.failed(); ++i) {
    const std::int64_t size = in.shape(x)[static_cast<int>(axes[i])], by = shifts[i].fixed();
    const std::int64_t shift = size == 0 ? 0 : (by % size + size) % size;
    if (shift == 0) continue;
    const std::string name = "axis" + std::to_string(axes[i]);
    const ValueId end = slice(in, x, axes[i], Range{.start = size - shift, .size = shift}, name + ".end");
    const ValueId begin = slice(in, x, axes[i], Range{.start = 0, .size = size - shift}, name + ".begin");
    x = concat(in, {end, begin}, axes[i], name);
  }
  return x;
}

// ---- written ----

// The number of a value that is scattered, in the shape of the indices.
ValueId scattered(NodeReader& in, ValueId x, ValueId indices) {
  if (in.has("src")) return in.value("src");
  const ValueId value = in.value_or_number("value", x);
  return in.failed() ? ValueId{} : expand(in, in.cast(value, in.dtype(x), "value"), in.shape(indices).to_vector());
}

ValueId scatter(NodeReader& in, ValueId x, ScatterKind kind) {
  const ValueId indices = in.value("index");
  const std::int64_t axis = in.axis(in.integer("dim"), in.rank(x));
  ValueId updates = scattered(in, x, indices);
  if (in.failed()) return {};
  // Of a larger source only the part that has indices.
  std::vector<Range> part = whole(in.shape(indices));
  if (in.rank(updates) != in.rank(indices))
    return in.fail("argument 'src'", in.shape(updates).to_string(), "the rank of " + in.shape(indices).to_string());
  updates = slice(in, updates, part, "updates");
  return in.add(kScatterElements, ScatterElementsAttrs{axis, kind}, {x, indices, updates});
}

ValueId read_scatter(NodeReader& in) { return scatter(in, in.value("self"), ScatterKind::assign); }
ValueId read_scatter_add(NodeReader& in) { return scatter(in, in.value("self"), ScatterKind::add); }

struct Reduction {
  std::string_view name;
  ScatterKind kind;
  double neutral;
};
constexpr Reduction kReductions[] = {{"amax", ScatterKind::max, -std::numeric_limits<double>::infinity()},
                                     {"amin", ScatterKind::min, std::numeric_limits<double>::infinity()},
                                     {"prod", ScatterKind::mul, 1.0},
                                     {"sum", ScatterKind::add, 0.0}};

// Elements that are written begin with what they are, or with what changes nothing.
ValueId read_scatter_reduce(NodeReader& in) {
  ValueId x = in.value("self");
  const ValueId indices = in.value("index");
  const std::string name = in.text("reduce", "");
  const bool includes_self = in.flag("include_self", true);
  const auto known = std::find_if(std::begin(kReductions), std::end(kReductions),
                                  [&](const Reduction& one) { return one.name == name; });
  if (known == std::end(kReductions))
    return in.unsupported("argument 'reduce'", "'" + name + "'", "'amax', 'amin', 'prod' or 'sum'");
  if (!includes_self && !in.failed() && !is_float(in.dtype(x)))
    return in.unsupported("argument 'include_self'", "false, of integers", "true");
  if (!includes_self) {
    const std::int64_t axis = in.axis(in.integer("dim"), in.rank(x));
    if (in.failed()) return {};
    const ValueId neutral =
        expand(in, in.scalar_like(x, known->neutral, "neutral"), in.shape(indices).to_vector(), "neutral.wide");
    x = in.add(kScatterElements, ScatterElementsAttrs{axis}, {x, indices, neutral}, "begun");
  }
  return scatter(in, x, known->kind);
}

// x with the elements of `source` one after the other where the mask is true.
ValueId read_masked_scatter(NodeReader& in) {
  const ValueId x = in.value("self"), mask = in.value("mask"), source = in.value("source");
  if (in.failed()) return {};
  const Dim count = in.shape(x).elements(), given = in.shape(source).elements();
  if (given < 1) return in.unsupported("argument 'source'", "no elements", "some");
  const ValueId wide = expand(in, mask, in.shape(x).to_vector(), "mask");
  const ValueId ones = in.cast(in.reshape(wide, {count}, "mask.flat"), DType::s64, "ones");
  const ValueId seen = in.add(kCumsum, CumsumAttrs{}, {ones}, "seen");
  const ValueId one = in.constant(Tensor::scalar(std::int64_t{1}), "one");
  const ValueId last = in.reshape(in.extents({given - 1}, "last"), {}, "last.scalar");
  const ValueId places = in.binary(B::min, in.binary(B::sub, seen, one, "places"), last, "places.within");
  const ValueId taken = gather(in, in.reshape(source, {given}, "source"), places, 0);
  return in.failed() ? ValueId{}
                     : in.add(kWhere, NoAttrs{}, {wide, in.reshape(taken, in.shape(x).to_vector(), "taken"), x});
}

// x[a, b, ...] = values, or += values.
ValueId read_index_put(NodeReader& in) {
  const ValueId x = in.value("self"), values = in.value("values");
  const std::vector<ValueId> given = in.values("indices");
  const ScatterKind kind = in.flag("accumulate") ? ScatterKind::add : ScatterKind::assign;
  const ValueId indices = joined_indices(in, given);
  if (in.failed()) return {};
  if (static_cast<int>(given.size()) > in.rank(x))
    return in.fail("argument 'indices'", std::to_string(given.size()) + " tensors",
                   "at most one for each axis of " + in.shape(x).to_string());
  Extents dims(in.shape(indices).begin(), in.shape(indices).end() - 1);
  dims.insert(dims.end(), in.shape(x).begin() + static_cast<std::ptrdiff_t>(given.size()), in.shape(x).end());
  return in.add(kScatterNd, ScatterNdAttrs{kind}, {x, indices, expand(in, values, dims, "updates")});
}

ValueId read_masked_fill(NodeReader& in) {
  const ValueId x = in.value("self"), mask = in.value("mask");
  const ValueId value = in.value_or_number("value", x);
  return in.add(kWhere, NoAttrs{}, {mask, in.cast(value, in.dtype(x), "value"), x});
}

// ---- by position ----

template <bool is_upper>
ValueId read_triangle(NodeReader& in) {
  const ValueId x = in.value("self");
  return trilu(in, x, in.integer("diagonal", 0), is_upper);
}

// x[..., i, i + offset] of two axes, as the last axis.
ValueId read_diagonal(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t offset = in.integer("offset", 0);
  const std::int64_t a = in.axis(in.integer("dim1", 0), in.rank(x)), b = in.axis(in.integer("dim2", 1), in.rank(x));
  if (!in.failed() && a == b) in.fail("argument 'dim2'", std::to_string(b), "another axis than 'dim1'");
  if (in.failed()) return {};
  const Dim rows = in.shape(x)[static_cast<int>(a)], columns = in.shape(x)[static_cast<int>(b)];
  Integers perm;
  Extents dims;
  for (int i = 0; i < in.rank(x); ++i) {
    if (i != a && i != b) perm.push_back(i), dims.push_back(in.shape(x)[i]);
  }
  perm.push_back(a), perm.push_back(b), dims.push_back(rows * columns);
  const Dim below = std::max<std::int64_t>(-offset, 0), right = std::max<std::int64_t>(offset, 0);
  const Dim count = larger(smaller(rows - below, columns - right), 0);
  const ValueId flat = in.reshape(transpose(in, x, perm, "turned"), dims, "flat");
  const Dim start = count == 0 ? Dim(0) : below * columns + right;
  return slice(in, flat, in.rank(flat) - 1, Range{.start = start, .step = columns.fixed() + 1, .size = count});
}

ValueId read_einsum(NodeReader& in) {
  const std::string equation = in.text("equation", "");
  in.ignore("path");
  return einsum(in, equation, "argument 'equation'", in.values("tensors"));
}

constexpr Operator kSelectionTable[] = {
    {"aten.diagonal", "default", kView, read_diagonal},
    {"aten.einsum", "default", kFresh, read_einsum},
    {"aten.flip", "default", kFresh, read_flip},
    {"aten.gather", "default", kFresh, read_gather},
    {"aten.index", "Tensor", kFresh, read_index},
    {"aten.index_put", "default", kFresh, read_index_put},
    {"aten.index_select", "default", kFresh, read_index_select},
    {"aten.masked_fill", "Scalar Tensor", kFresh, read_masked_fill},
    {"aten.masked_scatter", "default", kFresh, read_masked_scatter},
    {"aten.roll", "default", kFresh, read_roll},
    {"aten.scatter", "src value", kFresh, read_scatter},
    {"aten.scatter_add", "default", kFresh, read_scatter_add},
    {"aten.scatter_reduce", "two", kFresh, read_scatter_reduce},
    {"aten.topk", "default", kFresh, read_topk},
    {"aten.tril", "default", kFresh, read_triangle<false>},
    {"aten.triu", "default", kFresh, read_triangle<true>},
};

}  // namespace

const std::span<const Operator> kSelection = kSelectionTable;

}  // namespace octavo::pt2_import
