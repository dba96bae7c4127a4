// Heads of attention by columns instead of by axes. Part of lower/.
#include "lower/rules/attention_heads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "lower/column_view.h"
#include "lower/leading_axes.h"
#include "lower/tensor_edit.h"
#include "ops/attention/attention.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

using Parts = std::vector<AxisPart>;

// One of q, k and v as columns of its source, or of what its source is once its heads are moved behind its rows.
struct Operand {
  ValueId source;
  Axes axes;  // of the source: batch, rows, heads where they are an axis, columns
  bool has_heads_axis = false;
  std::vector<Dim> batch;  // sizes that the heads' axes stand behind, without those of size 1
  Dim rows = 1;
  std::int64_t heads = 1;    // side by side
  std::int64_t repeats = 1;  // neighbours that read the same
  std::int64_t size = 1;     // columns of a head
  std::int64_t first = 0;    // column
  double factor = 1.0;

  bool is_in_order() const { return is_identity(axes); }
  std::int64_t all_heads() const { return heads * repeats; }
  std::size_t batch_rank() const { return axes.size() - (has_heads_axis ? 3 : 2); }
};

// Reads the axes of a view as those of heads.
class OperandReader {
 public:
  // `heads_of_axis`: that many heads, repeats included, may be an axis of the source. 0: only columns.
  OperandReader(const Graph& graph, const ColumnView& view, std::int64_t heads_of_axis)
      : view_(view),
        shape_(graph.fact(view.source).shape),
        heads_of_axis_(heads_of_axis),
        columns_(shape_.rank() - 1),
        is_used_(static_cast<std::size_t>(shape_.rank()), false) {}

  std::optional<Operand> read() {
    if (shape_.rank() < 2) return std::nullopt;
    is_used_.back() = true;
    const std::size_t rank = view_.axes.size();
    operand_.source = view_.source;
    operand_.factor = view_.factor;
    if (!read_columns(view_.axes[rank - 1])) return std::nullopt;
    Parts leading;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis)
      leading.insert(leading.end(), view_.axes[axis].begin(), view_.axes[axis].end());
    const Parts rows = joined(view_.axes[rank - 2]);
    if (rows.size() > 1 || (rows.size() == 1 && !takes_whole(rows.front()))) return std::nullopt;
    if (rows.size() == 1) operand_.rows = rows.front().size;
    if (!read_leading(joined(leading)) || !read_heads_axis()) return std::nullopt;
    return placed(rows) ? std::optional(operand_) : std::nullopt;
  }

 private:
  bool read_columns(const Parts& parts) {
    if (parts.size() != 1 || parts[0].axis != columns_ || parts[0].stride != 1 || !parts[0].size.is_number())
      return false;
    operand_.size = parts[0].size;
    operand_.first = view_.first.back();
    return true;
  }

  // An axis of the source, all of it, that nothing else shows.
  bool takes_whole(const AxisPart& part) {
    if (part.axis == AxisPart::kRepeated || part.axis == columns_) return false;
    const auto axis = static_cast<std::size_t>(part.axis);
    if (is_used_[axis] || view_.first[axis] != 0 || part.stride != 1) return false;
    is_used_[axis] = true;
    return is_same(part.size, shape_[part.axis]);
  }

  // Batch, then heads, then repeats.
  bool read_leading(const Parts& parts) {
    std::size_t i = 0;
    for (; i < parts.size() && parts[i].axis != columns_ && parts[i].axis != AxisPart::kRepeated; ++i) {
      if (!takes_whole(parts[i])) return false;
      batch_axes_.push_back(parts[i].axis);
      operand_.batch.push_back(parts[i].size);
    }
    if (i < parts.size() && parts[i].axis == columns_) {
      if (parts[i].stride != operand_.size || !parts[i].size.is_number()) return false;
      operand_.heads = parts[i++].size;
    }
    if (i < parts.size() && parts[i].axis == AxisPart::kRepeated && parts[i].size.is_number())
      operand_.repeats = parts[i++].size;
    return i == parts.size();
  }

  // The last axis of the batch, where these heads are looked for.
  bool read_heads_axis() {
    if (heads_of_axis_ == 0 || operand_.all_heads() == heads_of_axis_) return true;
    if (operand_.heads != 1 || operand_.batch.empty()) return false;
    const Dim heads = operand_.batch.back();
    const bool are_columns_whole = operand_.first == 0 && is_same(shape_[columns_], Dim(operand_.size));
    if (!are_columns_whole || !heads.is_number() || heads.example() * operand_.repeats != heads_of_axis_) return false;
    operand_.heads = heads;
    operand_.batch.pop_back();
    operand_.has_heads_axis = true;
    heads_axis_ = batch_axes_.back();
    batch_axes_.pop_back();
    return true;
  }

  // The order of the source's axes; those of size 1, which no part shows, stay where they are as far as they can.
  bool placed(const Parts& rows) {
    std::optional<std::int64_t> row;
    if (!rows.empty()) row = rows.front().axis;
    for (std::int64_t axis = columns_ - 1; axis >= 0; --axis) {
      if (is_used_[static_cast<std::size_t>(axis)]) continue;
      if (!is_one(shape_[static_cast<int>(axis)])) return false;
      if (!row) row = axis;
      else
        batch_axes_.insert(
            std::find_if(batch_axes_.begin(), batch_axes_.end(), [&](std::int64_t other) { return other > axis; }),
            axis);
    }
    if (!row) return false;
    operand_.axes = batch_axes_;
    operand_.axes.push_back(*row);
    if (operand_.has_heads_axis) operand_.axes.push_back(heads_axis_);
    operand_.axes.push_back(columns_);
    return true;
  }

  const ColumnView& view_;
  const OpenShape& shape_;
  const std::int64_t heads_of_axis_;
  const int columns_;
  std::vector<bool> is_used_;  // axes of the source
  std::int64_t heads_axis_ = 0;
  Axes batch_axes_;
  Operand operand_;
};

// The source with most heads side by side; of these the farthest that can be read as it is, else the farthest.
std::optional<Operand> operand_of(const Graph& graph, ValueId wire) {
  std::optional<Operand> best;
  for (const ColumnView& view : views_of(graph, wire)) {
    auto operand = OperandReader(graph, view, 0).read();
    if (!operand) continue;
    const std::int64_t more = best ? operand->all_heads() - best->all_heads() : 1;
    if (more > 0 || (more == 0 && (operand->is_in_order() || !best->is_in_order()))) best = std::move(operand);
  }
  return best;
}

// The source with that many heads, as columns or as an axis; as few of them as possible being copies, then the farthest
// that can be read as it is, else the farthest.
std::optional<Operand> operand_with_heads(const Graph& graph, ValueId wire, std::int64_t heads) {
  std::optional<Operand> best;
  for (const ColumnView& view : views_of(graph, wire)) {
    auto operand = OperandReader(graph, view, heads).read();
    if (!operand || operand->all_heads() != heads) continue;
    const std::int64_t more = best ? operand->repeats - best->repeats : 1;
    if (more > 0 || (more == 0 && (operand->is_in_order() || !best->is_in_order()))) best = std::move(operand);
  }
  return best;
}

bool fit(const Operand& q, const Operand& other) {
  return is_same(OpenShape(q.batch), OpenShape(other.batch)) && q.heads == other.all_heads();
}

struct HeadOperands {
  Operand q, k, v;
};

// All of them as columns where one at least is: each that has to be moved for it spares the result's or another's move.
std::optional<HeadOperands> operands_of(const Graph& graph, const Node& node) {
  std::optional<Operand> found[3];
  std::int64_t heads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    found[i] = operand_of(graph, node.inputs[i]);
    if (found[i]) heads = std::max(heads, found[i]->all_heads());
  }
  if (heads == 1) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!found[i] || found[i]->all_heads() != heads) found[i] = operand_with_heads(graph, node.inputs[i], heads);
    if (!found[i]) return std::nullopt;
  }
  auto& [q, k, v] = found;
  if (q->repeats != 1 || !fit(*q, *k) || !fit(*q, *v) || k->heads != v->heads || v->factor != 1.0) return std::nullopt;
  return HeadOperands{*std::move(q), *std::move(k), *std::move(v)};
}

// The batch of the new node: the old leading axes without the heads', where these are an axis; else the source's.
OpenShape batch_of(const Graph& graph, const OpenShape& leading, const Operand& q) {
  if (leading.rank() > 0 && is_same(leading[leading.rank() - 1], Dim(q.heads)))
    return OpenShape(leading.dims().first(leading.dims().size() - 1));
  return OpenShape(transposed_shape(graph.fact(q.source).shape, q.axes).dims().first(q.batch_rank()));
}

// [batch..., rows, columns] of the operands' sources; what several of them read is made once. Each has a name of its
// own: ranges of values go by names.
std::vector<ValueId> placed(Patch& patch, const HeadOperands& operands, const OpenShape& batch, const std::string& of) {
  static constexpr const char* kNames[] = {"/q", "/k", "/v"};
  std::vector<ValueId> result;
  const Operand* all[] = {&operands.q, &operands.k, &operands.v};
  for (const Operand* operand : all) {
    const auto same = std::find_if(std::begin(all), all + result.size(), [&](const Operand* other) {
      return other->source == operand->source && other->axes == operand->axes;
    });
    if (same != all + result.size()) {
      result.push_back(result[static_cast<std::size_t>(same - std::begin(all))]);
      continue;
    }
    const std::string name = of + kNames[result.size()];
    const ValueId x = operand->is_in_order()
                          ? operand->source
                          : patch.add(kTranspose, TransposeAttrs{operand->axes}, {operand->source}, name + "/moved");
    auto dims = batch.to_vector();
    const OpenShape& moved = patch.fact(x).shape;
    dims.insert(dims.end(), {moved[static_cast<int>(operand->batch_rank())],
                             moved[moved.rank() - 1] * (operand->has_heads_axis ? operand->heads : 1)});
    const bool is_same_shape = is_same(moved, OpenShape(dims));
    result.push_back(is_same_shape ? x : patch.add(kReshape, ReshapeAttrs{dims}, {x}, name + "/columns"));
  }
  return result;
}

// The mask for [batch..., heads, queries, keys] instead of [leading..., 1, queries, keys].
std::optional<ValueId> placed_mask(Patch& patch, ValueId mask, const OpenShape& leading, const OpenShape& scores,
                                   const std::string& name) {
  auto dims = patch.fact(mask).shape.to_vector();
  if (dims.size() < 3) return mask;
  dims.erase(dims.end() - 3);
  const ValueId old = patch.add(kReshape, ReshapeAttrs{dims}, {mask}, name);
  return mask_for_leading_axes(patch, old, leading, leading_axes(scores), name);
}

// The columns of the heads as an axis in front of the rows, under the old shape.
ValueId by_axes(Patch& patch, ValueId y, const AttentionAttrs& attrs, const OpenShape& old, const std::string& name) {
  if (attrs.heads > 1) {
    auto dims = patch.fact(y).shape.to_vector();
    dims.back() = attrs.heads;
    dims.push_back(attrs.value_size);
    y = patch.add(kReshape, ReshapeAttrs{dims}, {y}, name);
    Axes perm = identity_axes(static_cast<int>(dims.size()));
    std::swap(perm[perm.size() - 2], perm[perm.size() - 3]);
    y = patch.add(kTranspose, TransposeAttrs{perm}, {y}, name);
  }
  return is_same(patch.fact(y).shape, old) ? y : patch.add(kReshape, ReshapeAttrs{old.to_vector()}, {y}, name);
}

// Leading axes and rows are those of the source; columns are neighbours in it.
bool shows_columns(const Graph& graph, const ColumnView& view) {
  const OpenShape& source = graph.fact(view.source).shape;
  const int rank = source.rank();
  if (static_cast<int>(view.axes.size()) != rank) return false;
  for (int axis = 0; axis < rank; ++axis) {
    const Parts parts = joined(view.axes[static_cast<std::size_t>(axis)]);
    if (axis == rank - 1) return parts.size() == 1 && parts[0].axis == axis && parts[0].stride == 1;
    const bool is_whole = parts.empty() ? is_one(source[axis])
                                        : parts.size() == 1 && parts[0].axis == axis && parts[0].stride == 1 &&
                                              is_same(parts[0].size, source[axis]);
    if (!is_whole || view.first[static_cast<std::size_t>(axis)] != 0) return false;
  }
  return false;
}

// Reads columns of wider tensors instead of slices of them, and unscaled ones.
Match wider_sources(const Graph& graph, const Node& node, AttentionAttrs attrs) {
  std::vector<ValueId> inputs = node.inputs;
  std::int64_t* const first[] = {&attrs.q_first, &attrs.k_first, &attrs.v_first};
  double scale = double{attrs.scale};
  for (std::size_t i = 0; i < kAttentionMask; ++i) {
    const std::vector<ColumnView> views = views_of(graph, inputs[i]);
    const auto farthest = std::find_if(views.rbegin(), views.rend(), [&](const ColumnView& view) {
      return shows_columns(graph, view) && (i < 2 || view.factor == 1.0);
    });
    if (farthest == views.rend()) continue;
    inputs[i] = farthest->source;
    *first[i] += farthest->first.back();
    scale *= farthest->factor;
  }
  attrs.scale = static_cast<float>(scale);
  if (inputs == node.inputs || !std::isfinite(attrs.scale)) return std::string();
  Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(kAttention, attrs, std::move(inputs), node.name, node.origin));
  return patch;
}

// Heads that are leading axes become columns.
Match heads_as_columns(const Graph& graph, const Node& node, const AttentionAttrs& old) {
  const auto operands = operands_of(graph, node);
  if (!operands) return std::string();
  const auto& [q, k, v] = *operands;
  if (q.size != old.head_size || k.size != old.head_size || v.size != old.value_size) return std::string();
  AttentionAttrs attrs{.heads = q.heads,
                       .kv_heads = k.heads,
                       .head_size = q.size,
                       .value_size = v.size,
                       .q_first = q.first,
                       .k_first = k.first,
                       .v_first = v.first,
                       .scale = static_cast<float>(double{old.scale} * q.factor * k.factor),
                       .is_causal = old.is_causal};
  if (!std::isfinite(attrs.scale)) return std::string();
  const OpenShape leading = leading_axes(graph.fact(node.inputs[0]).shape);
  const OpenShape batch = batch_of(graph, leading, q);
  Patch patch(graph);
  std::vector<ValueId> inputs = placed(patch, *operands, batch, node.name);
  if (node.inputs.size() > kAttentionMask && node.inputs[kAttentionMask].exists()) {
    const auto sizes = AttentionSizes::of(patch.fact(inputs[0]).shape, patch.fact(inputs[1]).shape);
    const auto mask =
        placed_mask(patch, node.inputs[kAttentionMask], leading, sizes.scores(attrs), node.name + "/mask");
    if (!mask) return std::string();
    inputs.push_back(*mask);
  }
  const ValueId y = patch.add(kAttention, attrs, std::move(inputs), node.name, node.origin);
  patch.replace(node.outputs[0], by_axes(patch, y, attrs, graph.fact(node.outputs[0]).shape, node.name));
  return patch;
}

}  // namespace

Match attention_heads(const Graph& graph, const Node& node) {
  const auto* attrs = node.attrs.get_if<AttentionAttrs>();
  if (attrs == nullptr) return std::string();
  const bool is_one_head = attrs->heads == 1 && attrs->q_first == 0 && attrs->k_first == 0 && attrs->v_first == 0;
  if (is_one_head) {
    Match match = heads_as_columns(graph, node, *attrs);
    if (std::holds_alternative<Patch>(match)) return match;
  }
  return wider_sources(graph, node, *attrs);
}

}  // namespace octavo
