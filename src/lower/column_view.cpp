// What a wire shows of a tensor that it was made of by moving elements alone. Part of lower/.
#include "lower/column_view.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

using Parts = std::vector<AxisPart>;

// Files have a few; each view follows its whole path.
constexpr std::size_t kColumnViewLongestPath = 32;

// The product with a scalar that a node is.
std::optional<Multiple> product_with_scalar(const Graph& graph, const Node& node) {
  const auto* binary = node.attrs.get_if<BinaryAttrs>();
  if (binary == nullptr || (binary->kind != BinaryKind::mul && binary->kind != BinaryKind::div)) return std::nullopt;
  if (graph.fact(node.outputs[0]).dtype != DType::f32) return std::nullopt;
  const bool is_product = binary->kind == BinaryKind::mul;
  for (std::size_t side = 0; side < (is_product ? 2 : 1); ++side) {
    const auto scalar = scalar_constant(graph, node.inputs[1 - side]);
    if (!scalar || !std::isfinite(*scalar) || *scalar == 0.0f) continue;
    if (!is_same(graph.fact(node.inputs[side]).shape, graph.fact(node.outputs[0]).shape)) continue;
    return Multiple{node.inputs[side], is_product ? double{*scalar} : 1.0 / double{*scalar}};
  }
  return std::nullopt;
}

// An open part that is a known number of times as large.
bool divides(const Dim& left, const Dim& part) {
  if (part.is_number() || is_same(left, part)) return false;
  const Dim times = part / left;
  return times.is_number() && times > 0 && is_same(left * times, part);
}

// The parts that make an axis of `size`, taken from the front of parts[next...]; the last one may be split.
std::optional<Parts> taken(Parts& parts, std::size_t& next, const Dim& size) {
  Parts axis;
  Dim have = 1;
  while (!is_same(have, size)) {
    if (next == parts.size()) return std::nullopt;
    if (is_zero(have) || is_zero(parts[next].size)) return std::nullopt;
    AxisPart& part = parts[next];
    const Dim left = size / have;
    if (left.is_number() && !part.size.is_number()) return std::nullopt;
    if (!left.is_number() ? !divides(left, part.size) : left % part.size == 0) {
      axis.push_back(part);
      have *= part.size;
      ++next;
      continue;
    }
    if (left.is_number() && (is_zero(left) || part.size % left != 0)) return std::nullopt;
    const std::int64_t inner = part.size / left;
    axis.push_back({left, part.axis, part.stride * inner});
    part.size = inner;
    have *= left;
  }
  return axis;
}

bool reshape(ColumnView& view, const OpenShape& shape) {
  Parts parts;
  for (const Parts& axis : view.axes) parts.insert(parts.end(), axis.begin(), axis.end());
  std::vector<Parts> axes;
  std::size_t next = 0;
  for (const Dim& size : shape) {
    auto axis = taken(parts, next, size);
    if (!axis) return false;
    axes.push_back(*std::move(axis));
  }
  view.axes = std::move(axes);
  return next == parts.size();
}

// Shows `size` positions of an axis from `start` on.
bool column_view_cut(ColumnView& view, std::size_t axis, std::int64_t start, const Dim& size) {
  Parts& parts = view.axes[axis];
  if (parts.size() > 1 || (parts.empty() && start != 0)) return false;
  if (parts.empty()) return is_one(size);
  AxisPart& part = parts.front();
  if (part.axis != AxisPart::kRepeated) view.first[static_cast<std::size_t>(part.axis)] += start * part.stride;
  part.size = size;
  if (is_one(size)) parts.clear();
  return true;
}

bool slice(ColumnView& view, const OpenShape& x, const SliceAttrs& attrs) {
  for (std::size_t axis = 0; axis < attrs.sizes.size(); ++axis) {
    if (attrs.steps[axis] != 1 && !is_one(attrs.sizes[axis])) return false;
    if (!attrs.starts[axis].is_number()) return false;
    if (is_zero(attrs.starts[axis]) && is_same(attrs.sizes[axis], x[static_cast<int>(axis)])) continue;
    if (!column_view_cut(view, axis, attrs.starts[axis], attrs.sizes[axis])) return false;
  }
  return true;
}

// One index, as a scalar or a list of one.
bool gather(ColumnView& view, const Graph& graph, const Node& node) {
  const Fact& indices = graph.fact(node.inputs[1]);
  if (!indices.is_constant() || indices.extents != nullptr || indices.constant->elements() != 1) return false;
  const std::int64_t axis = node.attrs.as<GatherAttrs>().axis;
  const Dim& size = graph.fact(node.inputs[0]).shape[static_cast<int>(axis)];
  std::int64_t index = to_int64s(indices.constant->view()).front();
  if (index < 0 && !size.is_number()) return false;
  if (index < 0) index += size;
  if (!column_view_cut(view, static_cast<std::size_t>(axis), index, 1)) return false;
  const auto place = view.axes.begin() + static_cast<std::ptrdiff_t>(axis);
  if (indices.shape.rank() == 0) view.axes.erase(place);
  else view.axes.insert(place, static_cast<std::size_t>(indices.shape.rank() - 1), Parts{});
  return true;
}

bool expand(ColumnView& view, const OpenShape& shape) {
  view.axes.insert(view.axes.begin(), static_cast<std::size_t>(shape.rank()) - view.axes.size(), Parts{});
  for (int axis = 0; axis < shape.rank(); ++axis) {
    Parts& parts = view.axes[static_cast<std::size_t>(axis)];
    if (parts.empty() && !is_one(shape[axis])) parts.push_back({shape[axis], AxisPart::kRepeated, 0});
  }
  return true;
}

}  // namespace

ColumnView whole_view(const Graph& graph, ValueId source) {
  const OpenShape& shape = graph.fact(source).shape;
  ColumnView view{.source = source,
                  .axes = std::vector<Parts>(static_cast<std::size_t>(shape.rank())),
                  .first = std::vector<std::int64_t>(static_cast<std::size_t>(shape.rank()), 0)};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!is_one(shape[axis])) view.axes[static_cast<std::size_t>(axis)].push_back({shape[axis], axis, 1});
  }
  return view;
}

bool follow(ColumnView& view, const Graph& graph, const Node& node) {
  if (const auto product = product_with_scalar(graph, node)) {
    view.factor *= product->factor;
    return true;
  }
  if (node.spec == &kReshape || node.spec == &kExpand) {
    const OpenShape& shape = graph.fact(node.outputs[0]).shape;
    return node.spec == &kReshape ? reshape(view, shape) : expand(view, shape);
  }
  if (node.spec == &kSlice) return slice(view, graph.fact(node.inputs[0]).shape, node.attrs.as<SliceAttrs>());
  if (node.spec == &kGather) return gather(view, graph, node);
  std::vector<Parts> axes;
  for (const std::int64_t axis : node.attrs.as<TransposeAttrs>().perm)
    axes.push_back(std::move(view.axes[static_cast<std::size_t>(axis)]));
  view.axes = std::move(axes);
  return true;
}

ValueId moved_by(const Graph& graph, const Node& node) {
  if (const auto product = product_with_scalar(graph, node)) return product->x;
  for (const OpSpec* spec : {&kReshape, &kTranspose, &kSlice, &kGather, &kExpand}) {
    if (node.spec == spec) return node.inputs[0];
  }
  return {};
}

std::vector<ColumnView> views_of(const Graph& graph, ValueId wire) {
  std::vector<ColumnView> views = {whole_view(graph, wire)};
  std::vector<const Node*> path;  // from the wire upwards
  ValueId next = wire;
  while (const Node* node = graph.producer(next)) {
    const ValueId source = moved_by(graph, *node);
    if (!source.exists() || path.size() == kColumnViewLongestPath) break;
    path.push_back(node);
    ColumnView view = whole_view(graph, source);
    const bool is_strided =
        std::all_of(path.rbegin(), path.rend(), [&](const Node* step) { return follow(view, graph, *step); });
    if (is_strided) views.push_back(std::move(view));
    next = source;
  }
  return views;
}

std::vector<AxisPart> joined(const std::vector<AxisPart>& parts) {
  Parts result;
  for (const AxisPart& part : parts) {
    const bool follows = !result.empty() && result.back().axis == part.axis && part.size.is_number() &&
                         result.back().stride == part.stride * part.size.example();
    if (!follows) {
      result.push_back(part);
      continue;
    }
    result.back().size *= part.size;
    result.back().stride = part.stride;
  }
  return result;
}

Multiple multiple_of(const Graph& graph, ValueId wire) {
  Multiple found{wire, 1.0};
  for (const Node* node = graph.producer(wire); node != nullptr; node = graph.producer(found.x)) {
    const auto product = product_with_scalar(graph, *node);
    if (!product) break;
    found = {product->x, found.factor * product->factor};
  }
  return found;
}

}  // namespace octavo
