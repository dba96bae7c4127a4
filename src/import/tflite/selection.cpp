// TFLite readers: elements picked, written and repeated by index. Part of import/.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fields.h"
#include "import/tflite/operators.h"
#include "ops/expand/expand.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/where/where.h"

namespace octavo::tflite_import {
namespace {

// ---- picked ----

// 0, 1, ... but `count` axes from `from` on come before those from `to` on, to <= from.
Integers moved_axes(int rank, std::int64_t from, std::int64_t count, std::int64_t to) {
  Integers order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + count);
  return order;
}

// Leading axes that x and indices share are batches; axes of x between them and the one that is picked from come before
// those of the indices.
ValueId read_gather(OperatorReader& in) {
  const auto* given = in.options<file::GatherOptions>();
  const ValueId x = in.value(0), indices = in.stored(1);
  const Number axis(given == nullptr ? 0 : given->axis(), "option 'axis'");
  const int batch_dims = given == nullptr ? 0 : given->batch_dims();
  if (in.failed() || batch_dims == 0) return gather(in, x, indices, axis);
  const std::int64_t from = in.axis(axis, in.rank(x));
  const int batches = batch_dims < 0 ? batch_dims + in.rank(indices) : batch_dims;
  if (in.failed()) return {};
  if (batches < 0 || batches > from || batches > in.rank(indices))
    return in.fail("option 'batch_dims'", std::to_string(batch_dims),
                   "axes of the indices, at most " + std::to_string(from));
  const ValueId lists = unsqueeze(in, indices, Integers{in.rank(indices)}, "indices");
  const std::int64_t between = from - batches, picked = in.rank(indices) - batches;
  if (between == 0) return in.add(kGatherNd, GatherNdAttrs{.batch_dims = batches}, {x, lists});
  const ValueId first = transpose(in, x, moved_axes(in.rank(x), from, 1, batches), "first");
  const ValueId y = in.add(kGatherNd, GatherNdAttrs{.batch_dims = batches}, {first, lists}, "gathered");
  if (in.failed()) return {};
  return transpose(in, y, moved_axes(in.rank(y), batches + picked, between, batches));
}

ValueId read_gather_nd(OperatorReader& in) {
  const ValueId x = in.value(0);
  return in.add(kGatherNd, GatherNdAttrs{}, {x, in.stored(1)});
}

ValueId read_topk(OperatorReader& in) {
  const ValueId x = in.value(0);
  const TopElements top = topk(in, x, Number(-1), in.constant_integer(1, "k"), true);
  in.output(1, in.cast(top.positions, in.output_tensor(1).dtype, "positions"));
  return top.values;
}

ValueId read_reverse(OperatorReader& in) {
  const ValueId x = in.value(0);
  const Integers axes = in.axes(in.constant_integers(1, "axes"), in.rank(x));
  return flip(in, x, axes);
}

ValueId read_reverse_sequence(OperatorReader& in) {
  const auto& given = in.required_options<file::ReverseSequenceOptions>();
  const ValueId x = in.value(0), lengths = in.stored(1);
  return reverse_sequence(in, {.x = x,
                               .lengths = lengths,
                               .time_axis = {given.seq_dim(), "option 'seq_dim'"},
                               .batch_axis = {given.batch_dim(), "option 'batch_dim'"}});
}

// A condition of one axis beside more chooses whole rows, in SELECT.
ValueId read_select(OperatorReader& in) {
  ValueId condition = in.stored(0);
  const ValueId a = in.value(1);
  if (!in.failed() && in.type() == "SELECT" && in.rank(condition) == 1 && in.rank(a) > 1) {
    Extents dims(static_cast<std::size_t>(in.rank(a)), 1);
    dims[0] = in.shape(condition)[0];
    condition = in.reshape(condition, dims, "rows");
  }
  return in.add(kWhere, NoAttrs{}, {condition, a, in.value(2)});
}

ValueId read_embedding_lookup(OperatorReader& in) {
  const ValueId rows = in.value(1);
  return gather(in, rows, in.stored(0), Number(0));
}

// How many boundaries are not above an element.
ValueId read_bucketize(OperatorReader& in) {
  const auto& given = in.required_options<file::BucketizeOptions>();
  const auto* list = given.boundaries();
  const ValueId x = in.cast(in.value(0), DType::f32, "real");
  if (in.failed()) return {};
  const std::vector<float> boundaries =
      list == nullptr ? std::vector<float>() : std::vector<float>(list->begin(), list->end());
  if (boundaries.empty()) return in.fail("option 'boundaries'", "none", "at least one");
  const int rank = in.rank(x);
  const ValueId each = in.constant(Tensor::of<float>(Shape{std::ssize(boundaries)}, boundaries), "boundaries");
  const ValueId is_above =
      in.binary(BinaryKind::greater_or_equal, unsqueeze(in, x, Integers{rank}, "apart"), each, "is_above");
  return reduce(in, {.x = in.cast(is_above, DType::s32, "ones"),
                     .kind = ReduceKind::sum,
                     .axes = Integers{rank},
                     .keeps_dims = false});
}

// ---- boxes ----

// A number that must be known at compile time.
std::optional<float> constant_float(OperatorReader& in, int index, const std::string& name) {
  const auto data = in.data_of(in.value(index), quoted("input", name));
  if (data == nullptr) return std::nullopt;
  if (data->dtype() == DType::f32 && data->elements() == 1) return data->as<float>()[0];
  in.fail(quoted("input", name), std::string(name_of(data->dtype())) + data->shape().to_string(), "one f32");
  return std::nullopt;
}

// boxes [n, 4] and scores [n]: the positions of those that are taken, as many as asked for at most, zeros behind them;
// with sigma (version 5) their scores too; and how many they are.
ValueId read_non_max_suppression(OperatorReader& in) {
  const bool has_scores = in.type() == "NON_MAX_SUPPRESSION_V5";
  const ValueId boxes = in.value(0), scores = in.value(1);
  const Number most = in.constant_integer(2, "max_output_size");
  const auto iou = constant_float(in, 3, "iou_threshold"), score = constant_float(in, 4, "score_threshold");
  const auto sigma = has_scores ? constant_float(in, 5, "soft_nms_sigma") : 0.0f;
  in.require_rank(boxes, 2, 2);
  in.require_rank(scores, 1, 1);
  if (in.failed()) return {};
  if (*sigma != 0.0f) return in.unsupported("input 'soft_nms_sigma'", print(*sigma), "0");
  // What overlaps by just the threshold is dropped, and by 0 that would be every box.
  if (!(*iou > 0.0f)) return in.unsupported("input 'iou_threshold'", print(*iou), "a number above 0");
  const Dim count = in.shape(boxes)[0];
  if (most < 1 || most > kMaxElements || count < 1)
    return in.fail("input 'max_output_size'", std::to_string(most.value) + " of " + to_string(count) + " boxes",
                   "some of several");
  const auto made =
      in.add_exactly(kNonMaxSuppression, NonMaxSuppressionAttrs{.most = most.value},
                     {in.reshape(boxes, {1, count, 4}, "boxes"), in.reshape(scores, {1, 1, count}, "scores"), ValueId{},
                      in.scalar(std::nextafter(*iou, 0.0f), "iou"), in.scalar(*score, "least")},
                     "taken");
  if (in.failed()) return {};
  const ValueId taken = pick(in, made[0], 1, Number(2), "boxes_taken");
  const Dim missing = Dim(most.value) - in.shape(taken)[0];
  const ValueId places = pad(in, {.x = taken, .begin = Extents{0}, .end = Extents{missing}}, "places");
  const ValueId number = pick(in, made[1], 0, Number(0), "number");
  in.output(has_scores ? 2 : 1, in.cast(number, DType::s32, "count"));
  if (has_scores) {
    const ValueId position = counted(in, most.value, DType::s64, "positions");
    const ValueId is_taken = in.binary(BinaryKind::less, position, number, "is_taken");
    in.output(1, in.add(kWhere, NoAttrs{},
                        {is_taken, gather(in, scores, places, Number(0)), in.scalar_like(scores, 0.0, "no_score")},
                        "scores_taken"));
  }
  return in.cast(places, DType::s32);
}

// ---- written ----

// Onto zeros; updates of one place are added up.
ValueId read_scatter_nd(OperatorReader& in) {
  const ValueId indices = in.stored(0), updates = in.value(1);
  const Numbers shape = in.constant_integers(2, "shape");
  const ValueId zeros = expand(in, in.scalar_like(updates, 0.0, "zero"), shape, "zeros");
  return in.add(kScatterNd, ScatterNdAttrs{ScatterKind::add}, {zeros, indices, updates});
}

ValueId read_one_hot(OperatorReader& in) {
  const auto& given = in.required_options<file::OneHotOptions>();
  const ValueId indices = in.stored(0), on = in.value(2), off = in.value(3);
  return one_hot(in, {.indices = indices,
                      .on = in.reshape(on, {}, "on"),
                      .off = in.reshape(off, {}, "off"),
                      .depth = in.constant_integer(1, "depth").value,
                      .axis = {given.axis(), "option 'axis'"},
                      .wraps = false});
}

// Values, or one for all, at positions of a tensor of default values.
ValueId read_sparse_to_dense(OperatorReader& in) {
  ValueId indices = in.stored(0), values = in.value(2);
  const Numbers shape = in.constant_integers(1, "output_shape");
  in.require_rank(indices, 0, 2);
  if (in.failed()) return {};
  // One position, or positions of a list.
  if (in.rank(indices) < 2) indices = in.reshape(indices, {in.shape(indices).elements(), 1}, "positions");
  const ValueId whole = expand(in, in.reshape(in.value(3), {}, "default"), shape, "whole");
  values = expand(in, values, Extents{in.shape(indices)[0]}, "values");
  return in.add(kScatterNd, ScatterNdAttrs{ScatterKind::assign}, {whole, indices, values});
}

// x with a part of it replaced, which begins at computed positions, moved so that it lies inside.
ValueId read_dynamic_update_slice(OperatorReader& in) {
  const ValueId x = in.value(0), update = in.value(1), begin = in.cast(in.stored(2), DType::s64, "begin");
  in.require_rank(update, in.rank(x), in.rank(x));
  in.require_rank(begin, 1, 1);
  if (in.failed()) return {};
  const OpenShape whole = in.shape(x), part = in.shape(update);
  Extents room;
  int axes = 0;  // up to the last one of which the part is less
  for (int i = 0; i < in.rank(x); ++i) {
    if (part[i] > whole[i]) return in.fail("input 'update'", part.to_string(), "a part of " + whole.to_string());
    room.push_back(whole[i] - part[i]);
    if (!is_same(whole[i], part[i])) axes = i + 1;
  }
  if (axes == 0) return update;
  const ValueId lowest = in.scalar_like(begin, 0.0, "first"), highest = in.extents(room, "room");
  const ValueId inside =
      in.binary(BinaryKind::min, in.binary(BinaryKind::max, begin, lowest, "not_before"), highest, "inside");
  Extents outer = part.to_vector();
  outer.resize(static_cast<std::size_t>(axes));
  std::vector<ValueId> places;
  const OpenShape outer_shape{outer};
  for (int i = 0; i < axes; ++i) {
    const std::string name = "axis" + std::to_string(i);
    const ValueId at = in.binary(BinaryKind::add, positions_along(in, outer_shape, i, name),
                                 pick(in, inside, 0, Number(i), name + ".begin"), name + ".at");
    places.push_back(unsqueeze(in, expand(in, at, outer, name + ".all"), Integers{axes}, name + ".apart"));
  }
  return in.add(kScatterNd, ScatterNdAttrs{ScatterKind::assign}, {x, concat(in, places, axes, "places"), update});
}

// ---- repeated ----

ValueId read_tile(OperatorReader& in) {
  const ValueId x = in.value(0);
  const Numbers repeats = in.constant_integers(1, "multiples");
  if (!in.failed() && static_cast<int>(repeats.size()) != in.rank(x))
    return in.fail(repeats.place, print(repeats.values), "one number per axis of " + in.shape(x).to_string());
  return tile(in, x, repeats);
}

ValueId read_broadcast_to(OperatorReader& in) {
  const ValueId x = in.value(0);
  return expand(in, x, in.constant_integers(1, "shape"));
}

ValueId read_fill(OperatorReader& in) {
  const Numbers dims = in.constant_integers(0, "dims");
  return expand(in, in.value(1), dims);
}

ValueId read_zeros_like(OperatorReader& in) {
  const ValueId x = in.value(0);
  return in.failed() ? ValueId{} : expand(in, in.scalar_like(x, 0.0, "zero"), in.shape(x).to_vector());
}

constexpr OperatorEntry kSelectionTable[] = {
    {"BROADCAST_TO", 2, 2, 1, kStored, read_broadcast_to},
    {"BUCKETIZE", 1, 1, 1, kReal, read_bucketize},
    {"DYNAMIC_UPDATE_SLICE", 3, 3, 1, kStored, read_dynamic_update_slice},
    {"EMBEDDING_LOOKUP", 2, 2, 1, kReal, read_embedding_lookup},
    {"FILL", 2, 2, 1, kStored, read_fill},
    {"GATHER", 2, 2, 1, kStored, read_gather},
    {"GATHER_ND", 2, 2, 1, kStored, read_gather_nd},
    {"NON_MAX_SUPPRESSION_V4", 5, 5, 2, kReal, read_non_max_suppression},
    {"NON_MAX_SUPPRESSION_V5", 6, 6, 3, kReal, read_non_max_suppression},
    {"ONE_HOT", 4, 4, 1, kStored, read_one_hot},
    {"REVERSE_SEQUENCE", 2, 2, 1, kStored, read_reverse_sequence},
    {"REVERSE_V2", 2, 2, 1, kStored, read_reverse},
    {"SCATTER_ND", 3, 3, 1, kReal, read_scatter_nd},
    {"SELECT", 3, 3, 1, kReal, read_select},
    {"SELECT_V2", 3, 3, 1, kReal, read_select},
    {"SPARSE_TO_DENSE", 4, 4, 1, kStored, read_sparse_to_dense},
    {"TILE", 2, 2, 1, kStored, read_tile},
    {"TOPK_V2", 2, 2, 2, kStored, read_topk},
    {"ZEROS_LIKE", 1, 1, 1, kReal, read_zeros_like},
};

}  // namespace

const std::span<const OperatorEntry> kSelection = kSelectionTable;

}  // namespace octavo::tflite_import
