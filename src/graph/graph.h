// Graph: operators (nodes) joined by values (wires), in an order in which they can be computed. Part of graph/.
#ifndef OCTAVO_GRAPH_GRAPH_H_
#define OCTAVO_GRAPH_GRAPH_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sizes.h"
#include "graph/op.h"

namespace octavo {

// Indices into one graph; -1 is none.
struct ValueId {
  int index = -1;
  bool exists() const { return index >= 0; }
  bool operator==(const ValueId&) const = default;
};
struct NodeId {
  int index = -1;
  bool exists() const { return index >= 0; }
  bool operator==(const NodeId&) const = default;
};

// Where a table with one entry for each value, or each node, of a graph has this one's.
constexpr std::size_t at(ValueId id) { return static_cast<std::size_t>(id.index); }
constexpr std::size_t at(NodeId id) { return static_cast<std::size_t>(id.index); }

struct Value {
  std::string name;  // the file's name for it; unique among inputs and outputs
  Fact fact;
  NodeId producer;  // none for graph inputs and constants
};

struct Node {
  std::string name;  // the source node's name; a fused node keeps that of its main operator
  const OpSpec* spec = nullptr;
  Attrs attrs = NoAttrs{};
  std::vector<ValueId> inputs;  // an input that is left out is a ValueId that does not exist
  std::vector<ValueId> outputs;
  std::string origin;  // "node 'block2/conv' (QLinearConv, opset 13)", for messages and reports
};

class Graph {
 public:
  // ---- building ----
  ValueId add_input(std::string name, DType dtype, OpenShape shape);
  ValueId add_constant(std::string name, Tensor tensor);
  ValueId add_constant(std::string name, std::shared_ptr<const Tensor> tensor);
  // A list or scalar of extents, in type s64 or s32.
  ValueId add_extents(std::string name, DType dtype, const Shape& shape, std::vector<Dim> extents);
  // Of such a one whose extents are numbers: a constant like others.
  void forget_extents(ValueId id) { values_[static_cast<std::size_t>(id.index)].fact.extents = nullptr; }
  // Infers the outputs' facts; on an error the graph is unchanged.
  Result<NodeId> add_node(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name,
                          std::string origin = {});
  // Like add_node, for operators with one output.
  Result<ValueId> add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name,
                      std::string origin = {});
  void add_output(ValueId value, std::string name);

  // The sizes that stay open; copies of the graph, and graphs made of it, share them. Null: none.
  const std::shared_ptr<Sizes>& sizes() const { return sizes_; }
  void set_sizes(std::shared_ptr<Sizes> sizes) { sizes_ = std::move(sizes); }

  // ---- reading ----
  const std::vector<NodeId>& order() const { return order_; }  // live nodes, each after its producers
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id.index)]; }
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id.index)]; }
  const Fact& fact(ValueId id) const { return value(id).fact; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  int value_count() const { return static_cast<int>(values_.size()); }
  int node_count() const { return static_cast<int>(order_.size()); }
  // Live nodes that read the value, each once, in the order in which they began to.
  std::vector<NodeId> readers(ValueId id) const;
  bool is_live(NodeId id) const { return is_live_[static_cast<std::size_t>(id.index)]; }
  bool is_output(ValueId id) const { return output_uses(id) > 0; }
  // The node that makes the value, or nullptr for inputs and constants.
  const Node* producer(ValueId id) const;
  // The producer when it is `spec`, else nullptr.
  const Node* producer_if(ValueId id, const OpSpec& spec) const;
  // Exactly one node reads it, once, and it is not a graph output.
  bool has_one_reader(ValueId id) const;
  // The facts of a node's inputs, nullptr where one is left out.
  std::vector<const Fact*> input_facts(const Node& node) const;

  // ---- changing (used by Patch and by passes on names) ----
  void set_quant(ValueId id, QuantParams quant) {
    values_[static_cast<std::size_t>(id.index)].fact.quant = std::move(quant);
  }
  void set_name(ValueId id, std::string name) { values_[static_cast<std::size_t>(id.index)].name = std::move(name); }
  // Every reader of `from` (graph outputs included) reads `to` instead. The caller checks the facts.
  void replace_uses(ValueId from, ValueId to);
  // Removes nodes whose results nobody reads, and the data of constants that nobody reads. Returns how many nodes.
  int remove_unused();
  // The same for these nodes and what only they read; takes time in proportion to what is removed. order() keeps them
  // until sort().
  void remove_if_unused(std::vector<NodeId> candidates);
  // Numbers for all open extents, from among `values` (Sizes::evaluate); no size is open afterwards. Errors: what an
  // operator says of the shapes that come of it.
  Status close(std::span<const std::int64_t> values);
  // Restores the order after nodes were appended that older ones read. False where there is a cycle.
  bool sort();

 private:
  void forget(NodeId id);
  int output_uses(ValueId id) const {
    const auto index = static_cast<std::size_t>(id.index);
    return index < output_uses_.size() ? output_uses_[index] : 0;
  }
  void add_output_uses(ValueId id, int uses);

  std::shared_ptr<Sizes> sizes_;
  // Facts and nodes stay where they are while others are added: readers hold references.
  std::deque<Value> values_;
  std::vector<std::vector<NodeId>> uses_;  // per value: a live node once per input that reads it
  std::vector<int> output_uses_;           // per value, or fewer: how many outputs it is
  std::deque<Node> nodes_;
  std::vector<bool> is_live_;  // per node
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> output_names_;
};

// Checks: ids in range, order, arity, facts equal to what infer says, unique input and output names. Reports all
// problems.
Status verify(const Graph& graph);

// One line per node: "%12 u8[1x56x56x64] = quantized_conv2d(%7, %8) {stride=[1,1]} 'layer1/conv1'".
std::string to_string(const Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_GRAPH_GRAPH_H_
