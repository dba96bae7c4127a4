// Verbs that pick elements by position, and what is made of positions. Part of import/.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/open_shape.h"
#include "import/fold_extents.h"
#include "import/verbs.h"
#include "ops/cumsum/cumsum.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/topk/topk.h"
#include "ops/where/where.h"

namespace octavo::importing {
namespace {

using B = BinaryKind;

// One size per axis: `size` along `axis`, else 1.
Extents along(int rank, std::int64_t axis, const Dim& size) {
  Extents dims(static_cast<std::size_t>(rank), 1);
  dims[static_cast<std::size_t>(axis)] = size;
  return dims;
}

// A number or a size; nothing where it is not known before or, as a float, not whole.
std::optional<Dim> whole_scalar(NodeBuilder& in, ValueId value) {
  if (!value.exists() || in.shape(value).elements() != 1) return std::nullopt;
  const Fact fact = fact_with_sizes(in.built().graph, value);
  if (!fact.is_constant()) return std::nullopt;
  if (fact.extents != nullptr) return fact.extents->front();
  const double number = element_as_double(fact.constant->view(), 0);
  const auto whole = to_int64s(fact.constant->view())[0];
  return !is_float(fact.dtype) || number == static_cast<double>(whole) ? std::optional(Dim(whole)) : std::nullopt;
}

// Of sizes that are known in a run; `delta` is `step_size`.
ValueId open_range(NodeBuilder& in, ValueId start, ValueId delta, const Dim& length, const Dim& step_size) {
  if (!step_size.is_number() && step_size > 0)
    return counted_from(in, start, delta, larger((length + step_size - 1) / step_size, 0));
  const std::int64_t step = step_size.fixed();
  if (step == 0) return in.fail("inputs", "a range that does not end", "a step other than 0");
  const std::int64_t stride = step > 0 ? step : -step;
  const Dim count = larger(((step > 0 ? length : 0 - length) + (stride - 1)) / stride, 0);
  return counted_from(in, start, in.scalar_like(start, static_cast<double>(step), "step"), count);
}

bool is_zero_scalar(NodeBuilder& in, ValueId value) {
  const Fact& fact = in.built().graph.fact(value);
  if (fact.extents != nullptr) return fact.extents->size() == 1 && is_zero(fact.extents->front());
  return fact.is_constant() && element_as_double(fact.constant->view(), 0) == 0.0;
}

}  // namespace

ValueId counted_from(NodeBuilder& in, ValueId start, ValueId delta, const Dim& count) {
  const ValueId steps = expand(in, delta, Extents{count}, "steps");
  if (in.failed()) return {};
  if (is_zero_scalar(in, start)) return in.add(kCumsum, CumsumAttrs{.exclusive = true}, {steps});
  return in.binary(B::add, in.add(kCumsum, CumsumAttrs{.exclusive = true}, {steps}, "sums"), start);
}

// (limit - start + delta - sign(delta)) / delta, truncated, is the quotient rounded up wherever that is above 0.
ValueId count_of_range(NodeBuilder& in, ValueId start, ValueId limit, ValueId delta) {
  for (const ValueId value : {start, limit, delta}) {
    if (in.shape(value).elements() != 1) return in.fail("inputs", "lists", "three scalars");
  }
  const ValueId length = in.binary(B::sub, limit, start, "length");
  const ValueId most = in.binary(B::sub, delta, in.unary({.kind = UnaryKind::sign}, delta, "sign"), "most");
  const ValueId count = in.binary(B::div, in.binary(B::add, length, most, "raised"), delta, "quotient");
  return in.binary(B::max, count, in.scalar_like(count, 0.0, "none"), "count");
}

ValueId range(NodeBuilder& in, ValueId start, ValueId limit, ValueId delta) {
  const auto first_size = whole_scalar(in, start), end_size = whole_scalar(in, limit),
             step_size = whole_scalar(in, delta);
  const bool is_known = first_size && end_size && step_size;
  if (is_known && !(first_size->is_number() && end_size->is_number() && step_size->is_number()))
    return open_range(in, start, delta, *end_size - *first_size, *step_size);
  constexpr std::int64_t kLimit = std::int64_t{1} << 24;
  const auto from = in.data_of(start, "start"), to = in.data_of(limit, "limit"), by = in.data_of(delta, "delta");
  if (in.failed()) return {};
  const DType type = from->dtype();
  for (const auto& tensor : {from, to, by}) {
    if (tensor->dtype() != type || tensor->elements() != 1)
      return in.fail("inputs", "tensors of different types or sizes", "three scalars of one type");
  }
  const double first = element_as_double(from->view(), 0), step = element_as_double(by->view(), 0);
  const double count = std::ceil((element_as_double(to->view(), 0) - first) / step);
  // NaN, where the step is 0, is refused too.
  if (!(count <= static_cast<double>(kLimit)))
    return in.fail("inputs", "a range that does not end", "at most 2^24 elements");
  const auto elements = static_cast<std::int64_t>(std::max(count, 0.0));
  if (elements > in.built().fold_budget)
    return in.fail("inputs", std::to_string(elements) + " elements", "fewer, for constants of this file");
  in.built().fold_budget -= elements;
  Tensor values(type, Shape{elements});
  for (std::int64_t i = 0; i < values.elements(); ++i)
    store_double(values.view(), i, first + static_cast<double>(i) * step);
  return in.constant(std::move(values), "value");
}

ValueId counted(NodeBuilder& in, const Dim& count, DType type, const std::string& name) {
  if (in.failed()) return {};
  Tensor one(type, Shape{});
  store_double(one.view(), 0, 1.0);
  const ValueId ones = expand(in, in.constant(std::move(one), name + ".one"), Extents{count}, name + ".ones");
  return in.add(kCumsum, CumsumAttrs{.axis = 0, .exclusive = true}, {ones}, name);
}

ValueId positions_along(NodeBuilder& in, const OpenShape& shape, std::int64_t axis, const std::string& name) {
  const Dim size = shape[static_cast<int>(axis)];
  return in.reshape(counted(in, size, DType::s64, name), along(shape.rank(), axis, size), name + ".along");
}

ValueId from_the_end(NodeBuilder& in, ValueId indices, const Dim& size) {
  const ValueId numbers = in.cast(indices, DType::s64, "indices");
  const ValueId is_negative = in.binary(B::less, numbers, in.scalar_like(numbers, 0.0, "first"), "from_the_end");
  const ValueId sizes = in.reshape(in.extents({size}, "size"), {}, "size.scalar");
  return in.add(kWhere, NoAttrs{}, {is_negative, in.binary(B::add, numbers, sizes, "shifted"), numbers}, "positions");
}

TopElements topk(NodeBuilder& in, ValueId x, const Number& axis, const Number& k, bool largest) {
  const TopkAttrs attrs{.axis = in.axis(axis, in.rank(x)), .k = k.value, .largest = largest};
  if (in.failed()) return {};
  const Dim size = in.shape(x)[static_cast<int>(attrs.axis)];
  if (attrs.k < 0 || size < attrs.k) {
    in.fail(k.place, to_string(attrs.k), "0 to " + to_string(size) + ", the size of the axis");
    return {};
  }
  const std::vector<ValueId> results = in.add_exactly(kTopk, attrs, {x}, "top");
  return in.failed() ? TopElements{} : TopElements{results[0], results[1]};
}

ValueId flip(NodeBuilder& in, ValueId x, const Integers& axes) {
  if (in.failed()) return {};
  std::vector<Range> ranges = whole(in.shape(x));
  for (const std::int64_t axis : axes) {
    Range& range = ranges[static_cast<std::size_t>(axis)];
    range = range_of_slice(range.size, kFar, -kFar, -1);
  }
  return slice(in, x, ranges);
}

ValueId one_hot(NodeBuilder& in, const OneHotArgs& args) {
  const std::int64_t axis = in.axis(args.axis, in.rank(args.indices) + 1);
  if (in.failed()) return {};
  if (args.depth < 0) return in.fail("depth", to_string(args.depth), "at least 0");
  const ValueId indices =
      args.wraps ? from_the_end(in, args.indices, args.depth) : in.cast(args.indices, DType::s64, "indices");
  const ValueId apart = unsqueeze(in, indices, Integers{axis}, "apart");
  if (in.failed()) return {};
  OpenShape shape = in.shape(apart);
  shape[static_cast<int>(axis)] = args.depth;
  const ValueId is_hot = in.binary(B::equal, apart, positions_along(in, shape, axis, "classes"), "is_hot");
  return in.add(kWhere, NoAttrs{}, {is_hot, args.on, args.off});
}

ValueId hardmax(NodeBuilder& in, ValueId x, std::int64_t axis) {
  const ValueId best = argmax(in, x, axis, {.keep_dims = true}, "best");
  if (in.failed()) return {};
  const ValueId is_best = in.binary(B::equal, best, positions_along(in, in.shape(x), axis, "positions"), "is_best");
  return in.cast(is_best, in.dtype(x));
}

ValueId diagonal_mask(NodeBuilder& in, BinaryKind kind, const OpenShape& matrix, std::int64_t diagonal) {
  // Beyond any matrix, and far from overflow.
  const std::int64_t offset = std::clamp(diagonal, -kFar, kFar);
  const ValueId rows = positions_along(in, matrix, 0, "rows"), columns = positions_along(in, matrix, 1, "columns");
  const ValueId by = in.constant(Tensor::scalar<std::int64_t>(offset), "diagonal");
  return in.binary(kind, columns, in.binary(B::add, rows, by, "rows.shifted"), "is_kept");
}

ValueId trilu(NodeBuilder& in, ValueId x, std::int64_t diagonal, bool is_upper) {
  in.require_rank(x, 2, kMaxRank);
  if (in.failed()) return {};
  const int rank = in.rank(x);
  const OpenShape matrix(Extents(in.shape(x).begin() + rank - 2, in.shape(x).end()));
  const ValueId kept = diagonal_mask(in, is_upper ? B::greater_or_equal : B::less_or_equal, matrix, diagonal);
  return in.add(kWhere, NoAttrs{}, {kept, x, in.scalar_like(x, 0.0, "zero")});
}

ValueId reverse_sequence(NodeBuilder& in, const ReverseArgs& args) {
  const int rank = in.rank(args.x);
  const std::int64_t time = in.axis(args.time_axis, rank), batch = in.axis(args.batch_axis, rank);
  if (in.failed()) return {};
  if (time == batch)
    return in.fail(args.time_axis.place, std::to_string(args.time_axis.value), "another axis than that of the batch");
  const OpenShape shape = in.shape(args.x);
  const Dim sequences = shape[static_cast<int>(batch)];
  if (in.shape(args.lengths) != OpenShape(Extents{sequences}))
    return in.fail(in.place_of(args.lengths), "shape " + in.shape(args.lengths).to_string(),
                   "[" + to_string(sequences) + "], the size of axis " + std::to_string(batch));
  const ValueId lengths =
      in.reshape(in.cast(args.lengths, DType::s64, "lengths"), along(rank, batch, sequences), "lengths.along");
  const ValueId positions = positions_along(in, shape, time, "positions");
  const ValueId last = in.binary(B::sub, lengths, in.scalar_like(lengths, 1.0, "one"), "last");
  const ValueId is_turned = in.binary(B::less, positions, lengths, "is_turned");
  const ValueId turned = in.binary(B::sub, last, positions, "turned");
  const ValueId from = in.add(kWhere, NoAttrs{}, {is_turned, turned, positions}, "from");
  return in.add(kGatherElements, GatherElementsAttrs{.axis = time},
                {args.x, expand(in, from, shape.to_vector(), "indices")});
}

}  // namespace octavo::importing
