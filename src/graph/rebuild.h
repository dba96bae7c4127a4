// Rebuild: a new graph made of an old one, node by node; what changes on the way is the caller's. Part of graph/.
#ifndef OCTAVO_GRAPH_REBUILD_H_
#define OCTAVO_GRAPH_REBUILD_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// Keeps which new value stands for which old one. After the first error nothing is added any more, and values that
// would have been made do not exist.
class Rebuild {
 public:
  // `old_graph` must outlive this and stay as it is.
  explicit Rebuild(const Graph& old_graph) : old_(old_graph), made_(static_cast<std::size_t>(old_graph.value_count())) {
    new_.set_sizes(old_graph.sizes());
  }

  const Graph& old_graph() const { return old_; }
  Graph& graph() { return new_; }
  const Graph& graph() const { return new_; }

  // The new value that stands for an old one; none where there is none yet.
  ValueId made(ValueId old_id) const { return made_[static_cast<std::size_t>(old_id.index)]; }
  // From now on `new_id` stands for `old_id`.
  void set(ValueId old_id, ValueId new_id) { made_[static_cast<std::size_t>(old_id.index)] = new_id; }
  // The same for a result of an added node, which takes over name, scale and zero point.
  void take_over(ValueId old_id, ValueId new_id);
  // What stands for an old value; a constant is taken along when it is first asked for. One that does not exist, or
  // that nothing stands for, stays without.
  ValueId of(ValueId old_id);
  std::vector<ValueId> of(const std::vector<ValueId>& old_ids);

  // All inputs of the old graph.
  void add_inputs();
  // A node with one result.
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name,
              const std::string& origin);
  // The old node with other attributes and inputs; its results, for which nothing stands yet.
  std::vector<ValueId> emit(const Node& node, Attrs attrs, std::vector<ValueId> inputs);
  // The old node over what stands for its inputs, and its results for the old ones.
  void copy(const Node& node);
  // What stands for these as outputs.
  void add_outputs(const std::vector<ValueId>& old_ids, const std::vector<std::string>& names);

  bool has_failed() const { return !errors_.empty(); }
  // The new graph, or what went wrong. Call once.
  Result<Graph> finish();

 private:
  const Graph& old_;
  Graph new_;
  std::vector<ValueId> made_;  // by ValueId of the old graph
  Errors errors_;
};

}  // namespace octavo

#endif  // OCTAVO_GRAPH_REBUILD_H_
