// Parts of an ONNX graph as models of their own. Part of analyze/.
#ifndef OCTAVO_ANALYZE_ONNX_SLICE_H_
#define OCTAVO_ANALYZE_ONNX_SLICE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/onnx/proto.h"

namespace octavo {

// Which nodes of a graph are in a part, by their places in the file.
using NodeSet = std::vector<bool>;

// A model and what its nodes read and make. What only constants make is no choice: it goes with whoever reads it.
class OnnxSlicer {
 public:
  // No tensor has its data in another file. Types of what nodes make come from the file, and, where it is silent, from
  // importing it, or the longest beginning of it that can be imported.
  explicit OnnxSlicer(onnx::ModelProto model);

  const onnx::ModelProto& model() const { return model_; }
  // The nodes that are a choice, in the file's order.
  const std::vector<std::size_t>& choices() const { return choices_; }
  // The part as a model: what is read and not made there becomes an input, what is made and not read an output, beside
  // the outputs that the graph has anyway. Nothing where the type of such an input is not known, or no node is left.
  std::optional<onnx::ModelProto> slice(const NodeSet& nodes) const;

 private:
  void list_reads();
  void find_constants();
  void read_types();
  void import_types();
  bool take_types(std::size_t count);
  NodeSet with_constants(NodeSet nodes) const;

  onnx::ModelProto model_, shell_;             // all of it; all but nodes and initializers
  std::vector<std::set<std::string>> reads_;   // of each node, what its branches and loops read included
  std::map<std::string, std::size_t> makers_;  // tensor -> node
  std::set<std::string> initializers_;
  std::vector<bool> is_constant_;  // of each node
  std::vector<std::size_t> choices_;
  std::map<std::string, onnx::TypeProto> types_;  // with shapes
  bool has_halves_ = false;                       // which importing widens
};

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_ONNX_SLICE_H_
