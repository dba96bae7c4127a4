// Nodes with graphs inside, for ModelBuilder. For the tests of import/, run/ and errors/.
#ifndef OCTAVO_TESTS_SUPPORT_CONTROL_FLOW_H_
#define OCTAVO_TESTS_SUPPORT_CONTROL_FLOW_H_

#include <string>
#include <utility>
#include <vector>

#include "support/onnx_builder.h"

namespace octavo::testing {

using NamedGraph = std::pair<std::string, ModelBuilder>;

// The node, with the graphs of these builders as attributes.
inline ModelBuilder& add_with_graphs(ModelBuilder& builder, const NodeText& text,
                                     const std::vector<NamedGraph>& graphs) {
  builder.node(text);
  onnx::NodeProto& node = *builder.proto().mutable_graph()->mutable_node()->rbegin();
  for (auto [name, graph] : graphs) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = graph.proto().graph();
  }
  return builder;
}

inline ModelBuilder& add_if(ModelBuilder& builder, const std::string& condition,
                            const std::vector<std::string>& outputs, const ModelBuilder& yes, const ModelBuilder& no) {
  return add_with_graphs(builder, {"If", {condition}, outputs, {}, "", "choice"},
                         {{"then_branch", yes}, {"else_branch", no}});
}

inline ModelBuilder& add_loop(ModelBuilder& builder, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs, const ModelBuilder& body) {
  return add_with_graphs(builder, {"Loop", inputs, outputs, {}, "", "search"}, {{"body", body}});
}

inline Tensor truth(bool value) {
  Tensor tensor(DType::boolean, Shape{});
  *reinterpret_cast<std::uint8_t*>(tensor.data()) = value ? 1 : 0;
  return tensor;
}

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_CONTROL_FLOW_H_
