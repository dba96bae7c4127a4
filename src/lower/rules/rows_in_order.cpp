// Rows that are put into another order and back. Part of lower/.
#include "lower/rules/rows_in_order.h"

#include <algorithm>
#include <vector>

#include "lower/column_view.h"
#include "ops/binary/binary.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// Files have a few; each candidate follows its whole path.
constexpr std::size_t kRowOrderLongestPath = 32;

bool is_row(const Graph& graph, ValueId wire) {
  const Fact& fact = graph.fact(wire);
  return fact.is_constant() && fact.shape.rank() <= 1;
}

// The rows that a node computes with, each by itself; none where it is another node.
ValueId rows_of(const Graph& graph, const Node& node) {
  const ValueId x = node.inputs.empty() ? ValueId{} : node.inputs[0];
  if (!x.exists() || graph.fact(node.outputs[0]).shape.rank() < 2) return {};
  if (node.spec == &kMatmul) {
    const Fact& w = graph.fact(node.inputs[1]);
    return w.is_constant() && w.shape.rank() == 2 && graph.fact(x).shape.rank() >= 2 ? x : ValueId{};
  }
  if (node.spec == &kUnary) return x;
  if (const auto* norm = node.attrs.get_if<LayerNormAttrs>())
    return norm->axis == graph.fact(x).shape.rank() - 1 ? x : ValueId{};
  if (node.spec != &kBinary) return {};
  for (std::size_t side = 0; side < 2; ++side) {
    const bool keeps_shape = is_same(graph.fact(node.inputs[side]).shape, graph.fact(node.outputs[0]).shape);
    if (keeps_shape && is_row(graph, node.inputs[1 - side])) return node.inputs[side];
  }
  return {};
}

// The last axis is all columns of what the view is of.
bool has_whole_columns(const ColumnView& view, int rank, const Dim& columns) {
  if (view.axes.empty() || view.first[static_cast<std::size_t>(rank) - 1] != 0) return false;
  const auto parts = joined(view.axes.back());
  if (is_one(columns)) return parts.empty();
  return parts.size() == 1 && parts[0].axis == rank - 1 && parts[0].stride == 1 && is_same(parts[0].size, columns);
}

// All rows of a source of `shape`, in their order.
bool has_rows_in_order(const ColumnView& view, const OpenShape& shape) {
  std::vector<AxisPart> all;
  for (std::size_t axis = 0; axis + 1 < view.axes.size(); ++axis)
    all.insert(all.end(), view.axes[axis].begin(), view.axes[axis].end());
  const auto parts = joined(all);
  std::size_t next = 0;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    if (is_one(shape[axis])) continue;
    if (next == parts.size() || parts[next].axis != axis || parts[next].stride != 1 ||
        !is_same(parts[next].size, shape[axis]) || view.first[static_cast<std::size_t>(axis)] != 0)
      return false;
    ++next;
  }
  return next == parts.size();
}

// Nodes from the last one to the first one behind the source.
using Path = std::vector<const Node*>;

// Whether rows of the source come out of the path where they were.
bool keeps_rows(const Graph& graph, ValueId source, const Path& path) {
  const OpenShape& shape = graph.fact(source).shape;
  if (shape.rank() < 2) return false;
  ColumnView view = whole_view(graph, source);
  Dim columns = shape[shape.rank() - 1];
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    if (!rows_of(graph, **step).exists()) {
      if (!follow(view, graph, **step)) return false;
      continue;
    }
    if (!has_whole_columns(view, shape.rank(), columns)) return false;
    const OpenShape& result = graph.fact((*step)->outputs[0]).shape;
    columns = result[result.rank() - 1];
    view.axes.back().clear();
    if (!is_one(columns)) view.axes.back().push_back({columns, shape.rank() - 1, 1});
  }
  return has_whole_columns(view, shape.rank(), columns) && has_rows_in_order(view, shape);
}

Patch row_order_without_moves(const Graph& graph, const Node& node, ValueId source, const Path& path) {
  Patch patch(graph);
  ValueId x = source;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    const ValueId rows = rows_of(graph, **step);
    if (!rows.exists()) continue;
    std::vector<ValueId> inputs = (*step)->inputs;
    std::replace(inputs.begin(), inputs.end(), rows, x);
    Attrs attrs = (*step)->attrs;
    if (attrs.is<LayerNormAttrs>()) {
      LayerNormAttrs changed = attrs.as<LayerNormAttrs>();
      changed.axis = patch.fact(x).shape.rank() - 1;
      attrs = changed;
    }
    x = patch.add(*(*step)->spec, attrs, std::move(inputs), (*step)->name, (*step)->origin);
  }
  const ReshapeAttrs attrs{graph.fact(node.outputs[0]).shape.to_vector()};
  patch.replace(node.outputs[0], patch.add(kReshape, attrs, {x}, node.name, node.origin));
  return patch;
}

}  // namespace

Match rows_in_order(const Graph& graph, const Node& node) {
  if (node.spec != &kTranspose && node.spec != &kReshape) return std::string();
  Path path = {&node};
  bool moves = node.spec == &kTranspose, computes = false;
  ValueId source = node.inputs[0];
  while (path.size() < kRowOrderLongestPath) {
    if (moves && computes && keeps_rows(graph, source, path)) return row_order_without_moves(graph, node, source, path);
    const Node* producer = graph.producer(source);
    if (producer == nullptr || !graph.has_one_reader(source)) break;
    const ValueId rows = rows_of(graph, *producer);
    const ValueId next = rows.exists() ? rows : moved_by(graph, *producer);
    if (!next.exists()) break;
    computes = computes || rows.exists();
    moves = moves || producer->spec == &kTranspose;
    path.push_back(producer);
    source = next;
  }
  return std::string();
}

}  // namespace octavo
