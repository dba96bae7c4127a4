// Verbs that move, cut and join elements. Part of import/.
#include <algorithm>
#include <numeric>

#include "base/fields.h"
#include "import/verbs.h"
#include "ops/concat/concat.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"

namespace octavo::importing {
namespace {

bool is_among(const Integers& list, std::int64_t number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

Integers first_axes(int count) {
  Integers axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

const Dim& size_along(const NodeBuilder& in, ValueId x, std::int64_t axis) {
  return in.shape(x)[static_cast<int>(axis)];
}

}  // namespace

std::optional<Extents> completed(Extents dims, const Dim& elements) {
  const auto rest =
      std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_number() && dim.example() == -1; });
  if (rest == dims.end()) return dims;
  *rest = 1;
  const auto known = checked_elements(dims);
  if (!known || *known == 0 || elements % *known != 0) return std::nullopt;
  *rest = elements / *known;
  return dims;
}

ValueId reshape_to(NodeBuilder& in, ValueId x, const Numbers& dims) {
  if (in.failed()) return {};
  if (dims.size() > kMaxRank) return in.fail(dims.place, std::to_string(dims.size()) + " dimensions", "at most 64");
  const Dim elements = in.shape(x).elements();
  const auto complete = completed(dims.values, elements);
  if (complete) return in.reshape(x, *complete);
  return in.fail(dims.place, print(dims.values) + " for " + to_string(elements) + " elements",
                 "at most one -1, and sizes that divide");
}

ValueId squeeze(NodeBuilder& in, ValueId x, const std::optional<Numbers>& axes, NotOne not_one) {
  const Integers named = axes ? in.axes(*axes, in.rank(x)) : first_axes(in.rank(x));
  if (in.failed()) return {};
  Extents dims;
  for (int i = 0; i < in.rank(x); ++i) {
    // An open axis that the file names is 1, or the file has no meaning: a condition. So is what goes unnamed.
    const bool is_named = is_among(named, i), must_be = axes && is_named && not_one == NotOne::is_error;
    const bool is_one = must_be || !axes ? in.shape(x)[i] == 1 : octavo::is_one(in.shape(x)[i]);
    if (must_be && !is_one)
      return in.fail(axes->place, "axis " + std::to_string(i) + " of " + in.shape(x).to_string(), "axes of size 1");
    if (!is_named || !is_one) dims.push_back(in.shape(x)[i]);
  }
  return in.reshape(x, dims);
}

ValueId unsqueeze(NodeBuilder& in, ValueId x, const Numbers& axes, std::string_view suffix) {
  if (in.failed()) return {};
  if (axes.size() > kMaxRank) return in.fail(axes.place, std::to_string(axes.size()) + " axes", "at most 64");
  const int rank = in.rank(x) + static_cast<int>(axes.size());
  const Integers added = in.axes(axes, rank);
  if (in.failed()) return {};
  Extents dims;
  for (int i = 0, next = 0; i < rank; ++i) dims.push_back(is_among(added, i) ? Dim(1) : in.shape(x)[next++]);
  return in.reshape(x, dims, suffix);
}

ValueId transpose(NodeBuilder& in, ValueId x, const Numbers& perm, std::string_view suffix) {
  const Integers axes = in.axes(perm, in.rank(x));
  if (in.failed() || (axes == first_axes(in.rank(x)))) return x;
  return in.add(kTranspose, TransposeAttrs{.perm = axes}, {x}, suffix);
}

ValueId swap_axes(NodeBuilder& in, ValueId x, std::int64_t a, std::int64_t b, std::string_view suffix) {
  if (in.failed()) return {};
  Integers perm = first_axes(in.rank(x));
  std::swap(perm[static_cast<std::size_t>(a)], perm[static_cast<std::size_t>(b)]);
  return transpose(in, x, perm, suffix);
}

ValueId expand(NodeBuilder& in, ValueId x, const Numbers& dims, std::string_view suffix) {
  if (in.failed()) return {};
  const bool are_good = dims.size() <= kMaxRank && checked_elements(dims.values).has_value();
  const auto shape = are_good ? broadcast(in.shape(x), OpenShape(dims.values)) : std::nullopt;
  if (!shape) return in.fail(dims.place, print(dims.values), "a shape that broadcasts with " + in.shape(x).to_string());
  return in.add(kExpand, ExpandAttrs{.shape = shape->to_vector()}, {x}, suffix);
}

// [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r·a, s·b]
ValueId tile(NodeBuilder& in, ValueId x, const Numbers& repeats) {
  if (in.failed()) return {};
  const auto added = static_cast<int>(repeats.size()) - in.rank(x);
  if (added < 0 || repeats.size() > kMaxRank / 2)
    return in.fail(repeats.place, print(repeats.values), std::to_string(in.rank(x)) + " to 32 numbers");
  Extents apart, repeated, joined;
  for (int i = 0; i < static_cast<int>(repeats.size()); ++i) {
    const Dim own = i < added ? Dim(1) : in.shape(x)[i - added], times = repeats[static_cast<std::size_t>(i)];
    apart.insert(apart.end(), {1, own});
    repeated.insert(repeated.end(), {times, own});
    if (!checked_elements(repeated))
      return in.fail(repeats.place, print(repeats.values), "at least 0, and a result of at most 2^33 elements");
    joined.push_back(times * own);
  }
  const ValueId wide = in.add(kExpand, ExpandAttrs{.shape = repeated}, {in.reshape(x, apart, "apart")}, "expanded");
  return in.reshape(wide, joined);
}

Range range_of_slice(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  if (size.is_number() && size.example() == 0) return {};
  const Dim lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto inside = [&](const Dim& at, const Dim& least) {
    const Dim most = larger(least, highest);
    if (at.is_number() && at.example() >= kFar) return most;
    if (at.is_number() && at.example() <= -kFar) return least;
    return smaller(larger(at < 0 ? at + size : at, least), most);
  };
  const Dim first = inside(start, 0), last = inside(end, lowest);
  step = std::clamp(step, -kFar, kFar);
  const Dim distance = step > 0 ? last - first : first - last, stride = step > 0 ? step : -step;
  const Dim count = larger(0, (distance + stride - 1) / stride);
  return is_zero(count) ? Range{} : Range{first, step, count};
}

std::vector<Range> whole(const OpenShape& shape) {
  std::vector<Range> ranges;
  for (const Dim& size : shape) ranges.push_back({.size = size});
  return ranges;
}

ValueId slice(NodeBuilder& in, ValueId x, const std::vector<Range>& ranges, std::string_view suffix) {
  if (in.failed()) return {};
  SliceAttrs attrs;
  bool is_all = true;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    is_all = is_all && ranges[i].step == 1 && is_same(ranges[i].size, in.shape(x)[static_cast<int>(i)]);
    attrs.starts.push_back(is_zero(ranges[i].size) ? Dim(0) : ranges[i].start);
    attrs.steps.push_back(ranges[i].step);
    attrs.sizes.push_back(ranges[i].size);
  }
  return is_all ? x : in.add(kSlice, attrs, {x}, suffix);
}

ValueId slice(NodeBuilder& in, ValueId x, std::int64_t axis, const Range& range, std::string_view suffix) {
  if (in.failed()) return {};
  std::vector<Range> ranges = whole(in.shape(x));
  ranges[static_cast<std::size_t>(axis)] = range;
  return slice(in, x, ranges, suffix);
}

ValueId pick(NodeBuilder& in, ValueId x, std::int64_t axis, const Number& index, std::string_view suffix) {
  if (in.failed()) return {};
  const Dim size = size_along(in, x, axis);
  if (index.value < 0 - size || index.value >= size)
    return in.fail(index.place, std::to_string(index.value), "an index of an axis of " + to_string(size));
  Extents dims = in.shape(x).to_vector();
  dims.erase(dims.begin() + axis);
  const Range one{.start = index.value < 0 ? index.value + size : Dim(index.value), .size = 1};
  return in.reshape(slice(in, x, axis, one, std::string(suffix) + "slice"), dims, suffix);
}

void unstack(NodeBuilder& in, ValueId x, const Number& axis) {
  const std::int64_t normal = in.axis(axis, in.rank(x));
  if (in.failed()) return;
  if (in.output_count() != size_along(in, x, normal)) {
    in.fail("", std::to_string(in.output_count()) + " results",
            to_string(size_along(in, x, normal)) + ", the size of the axis");
  }
  for (int i = 0; i < in.output_count(); ++i) in.output(i, pick(in, x, normal, i, std::to_string(i)));
}

void split(NodeBuilder& in, ValueId x, const Number& axis, const Numbers& sizes) {
  const std::int64_t normal = in.axis(axis, in.rank(x));
  if (in.failed()) return;
  const Dim size = size_along(in, x, normal);
  Dim left = size;
  for (const Dim& one : sizes) left = one < 0 || one > left ? Dim(-1) : left - one;
  if (static_cast<int>(sizes.size()) != in.output_count() || left != 0) {
    in.fail(sizes.place, print(sizes.values),
            std::to_string(in.output_count()) + " sizes whose sum is " + to_string(size));
    return;
  }
  Dim start = 0;
  for (int i = 0; i < in.output_count(); ++i) {
    const Range part{.start = start, .size = sizes[static_cast<std::size_t>(i)]};
    in.output(i, slice(in, x, normal, part, std::to_string(i)));
    start += part.size;
  }
}

ValueId concat(NodeBuilder& in, const std::vector<ValueId>& parts, const Number& axis, std::string_view suffix) {
  if (in.failed()) return {};
  if (parts.empty()) return in.fail("", "no tensors", "at least one");
  return in.add(kConcat, ConcatAttrs{.axis = in.axis(axis, in.rank(parts[0]))}, parts, suffix);
}

ValueId stack(NodeBuilder& in, std::vector<ValueId> parts, const Number& axis) {
  if (in.failed()) return {};
  if (parts.empty()) return in.fail("", "no tensors", "at least one");
  const std::int64_t normal = in.axis(axis, in.rank(parts[0]) + 1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = unsqueeze(in, parts[i], Integers{normal}, std::to_string(i));
  return concat(in, parts, normal);
}

ValueId gather(NodeBuilder& in, ValueId x, ValueId indices, const Number& axis) {
  return in.add(kGather, GatherAttrs{.axis = in.axis(axis, in.rank(x))}, {x, indices});
}

ValueId gather_elements(NodeBuilder& in, ValueId x, ValueId indices, const Number& axis) {
  return in.add(kGatherElements, GatherElementsAttrs{.axis = in.axis(axis, in.rank(x))}, {x, indices});
}

ValueId pad(NodeBuilder& in, const PadArgs& args, std::string_view suffix) {
  if (in.failed()) return {};
  const auto rank = static_cast<std::size_t>(in.rank(args.x));
  const Integers axes = args.axes.empty() ? first_axes(in.rank(args.x)) : args.axes;
  if (args.begin.size() != axes.size() || args.end.size() != axes.size())
    return in.fail(args.begin.place, print(args.begin.values) + " and " + print(args.end.values),
                   "two numbers for each of " + std::to_string(axes.size()) + " axes");
  PadAttrs attrs{.mode = args.mode, .begin = Extents(rank, 0), .end = Extents(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    attrs.begin[static_cast<std::size_t>(axes[i])] = args.begin[i];
    attrs.end[static_cast<std::size_t>(axes[i])] = args.end[i];
  }
  if (!args.value.exists()) return in.add(kPad, attrs, {args.x}, suffix);
  if (in.shape(args.value).elements() != 1)
    return in.fail(in.place_of(args.value), "shape " + in.shape(args.value).to_string(), "a scalar");
  return in.add(kPad, attrs, {args.x, in.reshape(args.value, {}, "value")}, suffix);
}

}  // namespace octavo::importing
