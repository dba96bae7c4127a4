// GraphWalker: reads the nodes of an ONNX graph and of the graphs inside them, in their order. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_GRAPH_WALKER_H_
#define OCTAVO_IMPORT_ONNX_GRAPH_WALKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "import/onnx/operators.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace octavo::onnx_import {

// "" for "ai.onnx".
std::string standard_domain(const std::string& domain);

class GraphWalker {
 public:
  // `building` outlives it.
  explicit GraphWalker(Building& building) : building_(building) {}

  void read_opsets(const onnx::ModelProto& model);
  bool has_standard_opset() const { return opsets_.contains(""); }

  // Reports operators that have no reader, of graphs inside nodes too.
  void list_unread(const onnx::GraphProto& graph);
  // An initializer, which is new.
  void read_initializer(const onnx::TensorProto& tensor);
  void read_nodes(const onnx::GraphProto& graph);
  // The value `name`, computed where the file has a constant. After the last that is asked for, the graph is left.
  Handle handle_of(const std::string& name);

  int count(Family family) const { return families_.contains(family) ? families_.at(family) : 0; }
  std::int64_t elements() const { return elements_; }  // of initializers

 private:
  // A node where it stands.
  struct Place {
    const onnx::GraphProto& graph;
    int index;
    const onnx::NodeProto& node;
    std::string name, origin;
  };
  using Unread = std::map<std::string, std::vector<std::string>>;
  int opset_of(const onnx::NodeProto& node) const;
  const Operator* find_operator(const onnx::NodeProto& node) const;
  void list_unread(const onnx::GraphProto& graph, Unread& unread);
  void read_node(const onnx::GraphProto& graph, int index);
  void read_operator(const Place& at, const Operator& entry);
  bool inputs_are_known(const Place& at);
  // Of an operator whose result has the shape that an input holds (computed_sizes.cpp): where that is computed, the
  // graph is left, and the next one knows it as sizes.
  void read_computed_sizes(const Place& at);
  void read_computed_sizes(const Place& at, const std::string& name);
  // Of a Range of integers from or by numbers that are computed; false: it is none.
  bool read_computed_range(const Place& at);
  void report_missing(const Place& at, int input);
  bool outputs_are_new(const Place& at);
  void forget_outputs(const onnx::NodeProto& node);

  // ---- control flow (control_flow.cpp) ----
  void read_control_flow(const Place& at);
  void read_if(const Place& at);
  void read_loop(const Place& at);
  void read_scan(const Place& at);
  const onnx::GraphProto* graph_of(const Place& at, const std::string& attribute);
  const onnx::AttributeProto* attribute_of(const Place& at, const std::string& name) const;
  std::vector<std::int64_t> list_of(const Place& at, const std::string& name, std::size_t count);
  void wrong(const Place& at, ErrorKind kind, const std::string& what, std::string found, std::string expected);
  bool begin_graph(const Place& at, const onnx::GraphProto& graph);
  void read_chosen(const Place& at, const onnx::GraphProto& graph);
  // Of each output of a graph inside the number of dimensions that one element gets; -1, and those missing at the end:
  // that which it has.
  using Ranks = std::vector<int>;
  Handle handle_of(const Place& at, const std::string& name, int rank);
  bool read_branch(const Place& at, const onnx::GraphProto& graph, const Ranks& ranks, BlockTree& block,
                   std::vector<Handle>& results);
  // Why a branch was not read: errors, where there are any that were not told before, which other sizes may mend or
  // not.
  struct RefusedBranch {
    Errors errors;
    bool is_about_sizes = false;
  };
  std::optional<RefusedBranch> try_branch(const Place& at, const onnx::GraphProto& graph, const Ranks& ranks,
                                          BlockTree& block, std::vector<Handle>& results);
  Ranks common_ranks(const std::vector<Handle>& first, const std::vector<Handle>& second) const;
  // What runs again and again: a Loop, or a Scan.
  struct Repeated {
    const onnx::GraphProto* body = nullptr;
    bool counts = false;  // its body takes the iteration and a condition, and gives a condition
    std::int32_t trips = kNoIndex, condition = kNoIndex;
    std::vector<Handle> carried, read;
    std::vector<ScannedAxis> read_axes, written_axes;
  };
  void read_repeated(const Place& at, Repeated& loop);
  bool read_body(const Place& at, const Repeated& loop, const std::vector<std::vector<bool>>& is_open, BlockTree& block,
                 std::vector<Handle>& results);
  Handle slice_of(const Repeated& loop, std::size_t index, const std::string& name);
  bool opens_more(const Place& at, Repeated& loop, const std::vector<Handle>& results,
                  std::vector<std::vector<bool>>& is_open);

  Building& building_;
  std::map<std::string, int> opsets_;  // by domain
  std::map<Family, int> families_;
  bool is_trying_lengths_ = false;
  int malformed_ = 0;  // errors about what stands where, which no size mends
  std::int64_t elements_ = 0;
  std::int64_t nodes_ = 0;  // read so far, those of loops' bodies as often as they are read
  // Nodes by what they make, of the graph that a message was needed for.
  std::map<std::string, int> producers_;
  const onnx::GraphProto* producers_of_ = nullptr;
};

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_GRAPH_WALKER_H_
