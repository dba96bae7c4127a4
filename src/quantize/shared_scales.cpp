// Following scales through what moves elements. Part of quantize/.
#include "quantize/shared_scales.h"

#include <algorithm>

namespace octavo {
namespace {

class Sharing {
 public:
  Sharing(const Graph& graph, const Placement& placement) : graph_(graph), placement_(placement) {
    for (int i = 0; i < graph.value_count(); ++i) scale_of_.push_back({i});
  }

  std::vector<ValueId> run() && {
    for (NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (role(id) != Role::moving || !placement_.pair(node.outputs[0])) continue;
      if (is_concat(id)) share_into_concat(node);
      else of(node.outputs[0]) = node.inputs[0];
    }
    for (ValueId& shared : scale_of_) shared = root(shared);
    return std::move(scale_of_);
  }

 private:
  Role role(NodeId id) const { return placement_.role(id).role; }
  ValueId& of(ValueId id) { return scale_of_[static_cast<std::size_t>(id.index)]; }
  ValueId root(ValueId id) {
    while (of(id) != id) id = of(id);
    return id;
  }
  bool is_concat(NodeId id) const {
    const Node& node = graph_.node(id);
    return elements_of(*node.spec, node.attrs) == Elements::joined && role(id) == Role::moving &&
           placement_.pair(node.outputs[0]);
  }

  // Inputs that only concatenations read, and those that are concatenations themselves, have the scale of the result,
  // so that joining is copying: one scale for a whole chain, as in a dense block, whose last member holds all of the
  // others anyway. Not through other nodes that move elements: there one range would spread over whole networks.
  void share_into_concat(const Node& concat) {
    for (ValueId input : concat.inputs) {
      if (shares_with_concat(input)) of(root(input)) = root(concat.outputs[0]);
    }
  }

  bool shares_with_concat(ValueId input) const {
    const NodeId producer = graph_.value(input).producer;
    if (!producer.exists() || !placement_.pair(input)) return false;
    if (is_concat(producer)) return true;
    if (role(producer) == Role::moving || role(producer) == Role::floating || graph_.is_output(input)) return false;
    const auto readers = graph_.readers(input);
    return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) { return is_concat(reader); });
  }

  const Graph& graph_;
  const Placement& placement_;
  std::vector<ValueId> scale_of_;
};

}  // namespace

std::vector<ValueId> shared_scales(const Graph& graph, const Placement& placement) {
  return Sharing(graph, placement).run();
}

}  // namespace octavo
