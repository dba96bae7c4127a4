// Lending the weights and making them again. Part of quantize/.
#include "quantize/source_network.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/memory.h"

namespace octavo {
namespace {

// What is smaller, or no real numbers, may be a parameter that somebody looks at.
constexpr std::size_t kLarge = 4096;

std::shared_ptr<const Tensor> without_data(const std::shared_ptr<const Tensor>& constant) {
  if (constant->dtype() != DType::f32 || constant->bytes() < kLarge) return constant;
  return std::make_shared<const Tensor>(Tensor::borrowed({constant->dtype(), constant->shape(), nullptr}));
}

// The graph's live part: the same ids for the same graph, with data or without.
class Copier {
 public:
  Copier(const Graph& from, bool has_data)
      : from_(from), has_data_(has_data), ids_(static_cast<std::size_t>(from.value_count())) {}

  Graph run() {
    for (const ValueId input : from_.inputs())
      id(input) = to_.add_input(from_.value(input).name, from_.fact(input).dtype, from_.fact(input).shape);
    for (const NodeId node : from_.order()) copy(from_.node(node));
    for (std::size_t i = 0; i < from_.outputs().size(); ++i)
      to_.add_output(known(from_.outputs()[i]), from_.output_names()[i]);
    return std::move(to_);
  }

 private:
  ValueId& id(ValueId old) { return ids_[static_cast<std::size_t>(old.index)]; }

  ValueId known(ValueId old) {
    if (!old.exists() || id(old).exists()) return old.exists() ? id(old) : old;
    const auto& constant = from_.fact(old).constant;
    return id(old) = to_.add_constant(from_.value(old).name, has_data_ ? constant : without_data(constant));
  }

  void copy(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(known(input));
    const auto added = to_.add_node(*node.spec, node.attrs, std::move(inputs), node.name, node.origin);
    if (!added) return;  // it was in a graph before
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      id(node.outputs[i]) = to_.node(*added).outputs[i];
      to_.set_name(id(node.outputs[i]), from_.value(node.outputs[i]).name);
    }
  }

  const Graph& from_;
  bool has_data_;
  std::vector<ValueId> ids_;  // by ValueId of the original
  Graph to_;
};

bool are_alike(const Graph& a, const Graph& b) {
  if (a.value_count() != b.value_count() || a.order() != b.order()) return false;
  for (int i = 0; i < a.value_count(); ++i) {
    if (!a.fact({i}).same_type(b.fact({i})) || a.fact({i}).is_constant() != b.fact({i}).is_constant()) return false;
  }
  return true;
}

}  // namespace

SourceNetwork::SourceNetwork(const Graph& graph, Make make)
    : graph_(Copier(graph, true).run()), make_(std::move(make)) {}

Graph SourceNetwork::lend() {
  if (!make_) return graph_;
  is_lent_ = true;
  Graph outline = Copier(graph_, false).run();
  return std::exchange(graph_, std::move(outline));
}

Status SourceNetwork::recall() {
  if (!is_lent_) return ok_status();
  auto again = make_();
  if (!again) return again.errors();
  Graph copy = Copier(*again, true).run();
  if (!are_alike(graph_, copy)) {
    return Error{.kind = ErrorKind::invalid_input,
                 .where = "model file",
                 .found = "another network than before",
                 .expected = "the same throughout"};
  }
  graph_ = std::move(copy);
  is_lent_ = false;
  release_freed_memory();
  return ok_status();
}

Result<Graph> SourceNetwork::take() {
  if (const Status recalled = recall(); !recalled) return recalled.errors();
  return std::move(graph_);
}

}  // namespace octavo
