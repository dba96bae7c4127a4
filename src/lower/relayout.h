// A new graph in which every value may lie in memory with its axes in another order than the file's. Part of lower/.
// channels_last.cpp says which operators want which order; this file keeps the books.
#ifndef OCTAVO_LOWER_RELAYOUT_H_
#define OCTAVO_LOWER_RELAYOUT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/rebuild.h"
#include "lower/tensor_edit.h"

namespace octavo {

// A value of the old graph = transpose(stored, axes), stored being a value of the new graph.
struct View {
  ValueId stored;
  Axes axes;
};

class Relayout {
 public:
  // `old_graph` must outlive this.
  explicit Relayout(const Graph& old_graph);

  const Graph& old_graph() const { return new_.old_graph(); }
  const Graph& new_graph() const { return new_.graph(); }
  const View& view(ValueId old_id);
  const OpenShape& shape(ValueId old_id) const { return old_graph().fact(old_id).shape; }

  // The value with its axes stored so that value = transpose(result, axes). Transposes where needed, each only once.
  ValueId stored_in(ValueId old_id, const Axes& axes);
  // The value as the file has it. An id that does not exist stays so.
  ValueId logical(ValueId old_id);
  // For broadcasting with a value of `rank` axes that is stored with `axes`.
  ValueId broadcastable(ValueId old_id, int rank, const Axes& axes);

  // Primitives on the new graph: transposes and reshapes move above dequantize and fold into constants.
  ValueId transposed(ValueId id, const Axes& axes);
  ValueId reshaped(ValueId id, const OpenShape& shape);

  // Adds a copy of the node with other attributes and inputs; its outputs are not yet registered.
  std::vector<ValueId> emit(const Node& node, Attrs attrs, std::vector<ValueId> inputs) {
    return new_.emit(node, std::move(attrs), std::move(inputs));
  }
  // Registers the new form of an output of the old graph.
  void set(ValueId old_id, View view);

  bool has_failed() const { return new_.has_failed(); }
  // The new graph, once all nodes are done.
  Result<Graph> finish();

 private:
  ValueId transposed_uncached(ValueId id, const Axes& axes);

  Rebuild new_;
  std::vector<View> views_;
  std::map<std::pair<int, Axes>, ValueId> transposed_;
};

}  // namespace octavo

#endif  // OCTAVO_LOWER_RELAYOUT_H_
