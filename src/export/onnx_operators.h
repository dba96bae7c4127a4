// How each operator is written in ONNX. Part of export/.
#ifndef OCTAVO_EXPORT_ONNX_OPERATORS_H_
#define OCTAVO_EXPORT_ONNX_OPERATORS_H_

#include <string>
#include <string_view>
#include <vector>

#include "export/onnx_writer.h"

namespace octavo::onnx_export {

// One node on its way into the file.
class NodeExport {
 public:
  NodeExport(OnnxWriter& writer, NodeId id) : out(writer), node(writer.graph().node(id)), id_(id) {}

  template <class T>
  const T& attrs() const {
    return node.attrs.as<T>();
  }
  // Of the same node at the other batch.
  template <class T>
  const T& other_attrs() const {
    return out.other(id_).attrs.template as<T>();
  }
  std::string input(std::size_t index) const {
    return index < node.inputs.size() ? out.name_of(node.inputs[index]) : "";
  }
  std::vector<std::string> inputs() const;
  const Fact& fact(std::size_t index) const { return out.graph().fact(node.inputs[index]); }
  std::string name(std::string_view suffix) const { return node.name + "/" + std::string(suffix); }

  // The node that makes output 0, under the node's own name.
  onnx::NodeProto& emit(std::string_view op, const std::vector<std::string>& from);
  // A node before it; gives the name of its result.
  std::string before(std::string_view op, const std::vector<std::string>& from, std::string_view suffix);
  void refuse(std::string found, std::string expected) { out.refuse(node, std::move(found), std::move(expected)); }

  OnnxWriter& out;
  const Node& node;

 private:
  NodeId id_;
};

using WriteNode = void (*)(NodeExport& node);

void write_argmax(NodeExport& node);
void write_attention(NodeExport& node);
void write_average_pool(NodeExport& node);
void write_batch_norm(NodeExport& node);
void write_binary(NodeExport& node);
void write_cast(NodeExport& node);
void write_concat(NodeExport& node);
void write_conv(NodeExport& node);
void write_conv_integer(NodeExport& node);
void write_conv_transpose(NodeExport& node);
void write_dequantize(NodeExport& node);
void write_det(NodeExport& node);
void write_dynamic_quantize(NodeExport& node);
void write_expand(NodeExport& node);
void write_gather(NodeExport& node);
void write_gather_elements(NodeExport& node);
void write_gather_nd(NodeExport& node);
void write_grid_sample(NodeExport& node);
void write_layer_norm(NodeExport& node);
void write_lrn(NodeExport& node);
void write_matmul(NodeExport& node);
void write_matmul_integer(NodeExport& node);
void write_max_pool(NodeExport& node);
void write_pad(NodeExport& node);
void write_quantize(NodeExport& node);
void write_recurrence(NodeExport& node);
void write_reduce(NodeExport& node);
void write_reshape(NodeExport& node);
void write_resize(NodeExport& node);
void write_roi_align(NodeExport& node);
void write_scatter_elements(NodeExport& node);
void write_scatter_nd(NodeExport& node);
void write_slice(NodeExport& node);
void write_softmax(NodeExport& node);
void write_topk(NodeExport& node);
void write_transpose(NodeExport& node);
void write_unary(NodeExport& node);
void write_where(NodeExport& node);

// The product that the addition makes a Gemm with, or nullptr: both are written as one node, where the addition stands.
const Node* product_of_gemm(const Graph& graph, const Node& addition);

// nullptr for operators that exist only inside Octavo.
WriteNode writer_of(const OpSpec& spec);

}  // namespace octavo::onnx_export

#endif  // OCTAVO_EXPORT_ONNX_OPERATORS_H_
