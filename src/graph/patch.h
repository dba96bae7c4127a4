// Patch: a rewrite as a value; a pass returns what it did. Part of graph/.
#ifndef OCTAVO_GRAPH_PATCH_H_
#define OCTAVO_GRAPH_PATCH_H_

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// New nodes and the old wires that they replace. Nothing touches the graph until apply().
class Patch {
 public:
  // `graph` must outlive the patch and stay unchanged until apply().
  explicit Patch(const Graph& graph) : graph_(&graph) {}

  // A new constant. The id may be used as an input of this patch's nodes.
  ValueId constant(std::string name, Tensor tensor);
  // A new node with one output. Records the first error; apply() then refuses.
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name, std::string origin = {});
  // Readers of `old_value` will read `new_value`. Both must have the same element type and shape.
  void replace(ValueId old_value, ValueId new_value);
  // The fact of an old value or of one made by this patch.
  const Fact& fact(ValueId id) const;
  // Records scale and zero point of a value made by this patch.
  void set_quant(ValueId id, QuantParams quant);

 private:
  friend Status apply_unsorted(Graph& graph, const Patch& patch);
  struct NewNode {
    const OpSpec* spec;
    Attrs attrs;
    std::vector<ValueId> inputs;
    std::string name, origin;
  };
  // Values of the patch have ids from graph.value_count() on; each is a constant or the output of a node.
  struct NewValue {
    std::string name;
    Fact fact;
    int node = -1;
  };
  const Graph* graph_;
  std::deque<NewValue> values_;
  std::vector<NewNode> nodes_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
  Errors errors_;
};

// Applies all of it or nothing. The replaced wires' names move to the new wires. Unused nodes are removed.
Status apply(Graph& graph, const Patch& patch);

// What one pass did to one node: applied, or why not.
struct PassEntry {
  std::string node;
  bool applied = false;
  std::string reason;  // where not applied
};
struct PassReport {
  std::string pass;
  std::vector<PassEntry> entries;
  Errors failures;  // patches that could not be applied, or that undo each other: a mistake of the matcher

  int applied() const;
  void add(std::string node, bool was_applied, std::string reason = {}) {
    entries.push_back({std::move(node), was_applied, std::move(reason)});
  }
};

// A matcher's answer: a patch, or a sentence that says why it does not apply here (empty: not this kind of node at
// all).
using Match = std::variant<Patch, std::string>;

// For every live node, in order: asks the matcher and applies its patch. Repeats over nodes made on the way until
// nothing matches. `budget`, where not null, is decremented per applied patch and stops the pass at 0 (bisection of
// wrong rewrites). A matcher whose patches undo each other is a failure after 64 patches per node.
using Matcher = std::function<Match(const Graph&, const Node&)>;
PassReport rewrite(Graph& graph, std::string_view pass, const Matcher& matcher, int* budget = nullptr);

}  // namespace octavo

#endif  // OCTAVO_GRAPH_PATCH_H_
