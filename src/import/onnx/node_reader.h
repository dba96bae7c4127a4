// NodeReader: what the reader of one operator sees of an ONNX file. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_NODE_READER_H_
#define OCTAVO_IMPORT_ONNX_NODE_READER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/verbs.h"

// Their header is heavy.
namespace onnx {
class AttributeProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace octavo::onnx_import {

using namespace importing;

// The graph being built, and what is known of the file's names.
struct Building : GraphBuilder {
  using GraphBuilder::GraphBuilder;
  std::string folder;                     // of external data
  std::int64_t nchwc_block = 0;           // channels of a block (nchwc.h)
  std::map<std::string, ValueId> values;  // by the file's name; an id that does not exist: its node could not be read
  ProgramBuilder program{*this};
  std::map<std::string, Handle> outer;  // values of graphs that were left; kNoHandle as above
  // Of a subgraph that is being read: names that end with it, and those that mean another value outside of it.
  struct Scope {
    std::vector<std::string> names;
    std::map<std::string, Handle> hidden;
  };
  std::vector<Scope> scopes;

  bool is_known(const std::string& name) const { return values.contains(name) || outer.contains(name); }
  void bind(const std::string& name, ValueId value);
  void bind_outer(const std::string& name, Handle handle);
  // The name means nothing until it is bound in this scope; false where it is of this scope, or of this graph.
  bool hide(const std::string& name);
  // In the graph that is being built, where an outer value enters it; none where it is unknown or could not be read.
  ValueId find(const std::string& name);
  void leave_graph();
  void end_scope();
};

class NodeReader : public NodeBuilder {
 public:
  NodeReader(Building& building, const onnx::NodeProto& node, int opset, std::string name, std::string origin);

  const std::string& op() const;
  int opset() const { return opset_; }
  bool is_microsoft() const;
  std::int64_t nchwc_block() const { return building_.nchwc_block; }
  const std::string& folder() const { return building_.folder; }

  // ---- inputs, by position; `name` is that of the operator's schema, for messages ----
  int input_count() const { return input_count_; }  // empty ones at the end do not count
  bool has(int index) const;
  ValueId value(int index, std::string_view name = {});     // must be there
  ValueId optional(int index, std::string_view name = {});  // does not exist where left out
  std::vector<ValueId> values();                            // all
  // Those that must be known at compile time.
  std::shared_ptr<const Tensor> constant_of(int index, std::string_view name);
  Numbers constant_integers(int index, std::string_view name);
  std::vector<float> constant_floats(int index, std::string_view name);

  // ---- attributes: each must be read or ignored; one of another type is an error and gives the fallback ----
  bool has(std::string_view name) const { return attributes_.count(name) != 0; }
  Number integer(std::string_view name);  // must be there
  Number integer(std::string_view name, std::int64_t fallback);
  bool flag(std::string_view name, bool fallback = false);
  float number(std::string_view name, float fallback);
  std::string text(std::string_view name, std::string fallback);
  Numbers integers(std::string_view name, Integers fallback = {});
  std::vector<float> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  const onnx::TensorProto* tensor(std::string_view name);  // nullptr where absent
  // An element type; nothing and an error for those that Octavo does not have.
  std::optional<DType> element_type(std::string_view name, std::optional<DType> fallback);
  void ignore(std::string_view name) { read_.insert(std::string(name)); }  // changes nothing in inference
  // An attribute before the opset `since`, from then on the input `index`; empty where left out.
  Numbers integers_since(int since, std::string_view name, int index);

  // ---- outputs ----
  bool wants(int index) const;
  // After reading: attributes and outputs that nobody took are errors. Binds the outputs' names.
  void finish();

 private:
  std::shared_ptr<const Tensor> list_at(int index, std::string_view name, bool (*is_type)(DType),
                                        std::string_view types);
  const onnx::AttributeProto* find(std::string_view name, int type, std::string_view type_name);

  Building& building_;
  const onnx::NodeProto& node_;
  int opset_;
  int input_count_;
  std::map<std::string, const onnx::AttributeProto*, std::less<>> attributes_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_NODE_READER_H_
