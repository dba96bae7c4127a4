// OnnxWriter: the ONNX file that is being written: names, nodes, constants, sizes that follow the batch. Part of
// export/.
#ifndef OCTAVO_EXPORT_ONNX_WRITER_H_
#define OCTAVO_EXPORT_ONNX_WRITER_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace octavo::onnx_export {

using Integers = std::vector<std::int64_t>;

class OnnxWriter {
 public:
  // `other`: the same graph, node by node, at another batch; nullptr: every size is fixed.
  OnnxWriter(const Graph& graph, const Graph* other, const std::string& name);

  const Graph& graph() const { return graph_; }
  // The node of the other graph, or the same one where there is none.
  const Node& other(NodeId id) const { return other_ == nullptr ? graph_.node(id) : other_->node(id); }
  const OpenShape& shape(ValueId id) const { return graph_.fact(id).shape; }
  const OpenShape& other_shape(ValueId id) const { return other_ == nullptr ? shape(id) : other_->fact(id).shape; }

  // The name of a wire; a constant is written when it is first asked for. "" for an input that is left out.
  std::string name_of(ValueId id);
  // A new constant.
  std::string constant(const std::string& name, const Tensor& tensor);
  std::string integers(const std::string& name, const Integers& values);
  std::string scalar(const std::string& name, float value);
  // A name that nothing has yet; `wanted` where that is free.
  std::string fresh(const std::string& wanted);
  // `name`, which readers refuse twice, is made unique.
  onnx::NodeProto& node(std::string_view op, const std::string& name, const std::vector<std::string>& inputs,
                        const std::string& output);

  void finish_outputs();
  void refuse(const Node& node, std::string found, std::string expected);
  Errors& errors() { return errors_; }
  // A size depends on the batch in a way that a file cannot say: everything is to be written anew with fixed sizes.
  void give_up_symbols() { has_given_up_ = true; }
  bool has_given_up() const { return has_given_up_; }
  onnx::ModelProto& model() { return model_; }

 private:
  void declare(onnx::ValueInfoProto& info, const std::string& name, ValueId id);
  void reserve_outputs();

  const Graph& graph_;
  const Graph* other_;
  onnx::ModelProto model_;
  std::set<std::string> taken_;  // names of values
  std::set<std::string> node_names_;
  std::vector<std::string> names_;  // by ValueId; empty: none yet
  Errors errors_;
  bool has_given_up_ = false;
};

void set_attribute(onnx::NodeProto& node, std::string_view name, std::int64_t value);
void set_attribute(onnx::NodeProto& node, std::string_view name, float value);
void set_attribute(onnx::NodeProto& node, std::string_view name, std::string_view value);
void set_attribute(onnx::NodeProto& node, std::string_view name, const Integers& values);
void set_attribute(onnx::NodeProto& node, std::string_view name, const std::vector<float>& values);
void set_attribute(onnx::NodeProto& node, std::string_view name, const std::vector<std::string>& values);

}  // namespace octavo::onnx_export

#endif  // OCTAVO_EXPORT_ONNX_WRITER_H_
