// What a wire shows of a tensor that it was made of by moving elements alone. Part of lower/.
#ifndef OCTAVO_LOWER_COLUMN_VIEW_H_
#define OCTAVO_LOWER_COLUMN_VIEW_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// A part of an axis of the source: `size` positions, `stride` apart. Never of size 1.
struct AxisPart {
  static constexpr int kRepeated = -1;
  Dim size = 1;
  int axis = kRepeated;  // of the source; kRepeated: every position shows the same
  std::int64_t stride = 0;
};

// Element by element the wire is factor times elements of the source. An axis of the wire is a list of parts, outermost
// first; one of size 1 has none.
struct ColumnView {
  ValueId source;
  std::vector<std::vector<AxisPart>> axes;  // of the wire
  std::vector<std::int64_t> first;          // per axis of the source: the first position shown
  double factor = 1.0;
};

// The wire as a view of itself, of what it was moved from (by reshape, transpose, slice, gather of one index, expand,
// or a product with a scalar constant), of what that was moved from, and so on as far as strides can say it.
std::vector<ColumnView> views_of(const Graph& graph, ValueId wire);

// All of a wire, as a view of itself.
ColumnView whole_view(const Graph& graph, ValueId source);
// The wire that a node moves; none where it does something else.
ValueId moved_by(const Graph& graph, const Node& node);
// What the view shows of the wire that the node moves becomes what it shows of the node's result. False where strides
// cannot say it.
bool follow(ColumnView& view, const Graph& graph, const Node& node);

// Parts that are one part of the source as one.
std::vector<AxisPart> joined(const std::vector<AxisPart>& parts);

// x of x * factor or x / factor, as often as there is one, and the product of the factors.
struct Multiple {
  ValueId x;
  double factor = 1.0;
};
Multiple multiple_of(const Graph& graph, ValueId wire);

}  // namespace octavo

#endif  // OCTAVO_LOWER_COLUMN_VIEW_H_
