// Walks over a graph and writes its nodes in their order. Part of export/.
#include "export/onnx.h"

#include <limits>

#include "export/channels_first.h"
#include "export/onnx_operators.h"
#include "ops/expand/expand.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"

namespace octavo {
namespace {

using onnx_export::NodeExport;
using onnx_export::OnnxWriter;

bool same_constants(const Fact& a, const Fact& b) { return a.constant == b.constant || *a.constant == *b.constant; }

// The same network node by node and wire by wire, sizes apart.
bool is_same_network(const Graph& a, const Graph& b) {
  if (a.value_count() != b.value_count() || a.order() != b.order() || a.inputs() != b.inputs() ||
      a.outputs() != b.outputs())
    return false;
  for (const NodeId id : a.order()) {
    const Node& x = a.node(id);
    const Node& y = b.node(id);
    if (x.spec != y.spec || x.inputs != y.inputs || x.outputs != y.outputs) return false;
    const bool follows_sizes = x.attrs.is<ReshapeAttrs>() || x.attrs.is<ExpandAttrs>() || x.attrs.is<SliceAttrs>() ||
                               x.attrs.is<ResizeAttrs>();
    if (!follows_sizes && !(x.attrs == y.attrs)) return false;
    for (const ValueId input : x.inputs) {
      if (!input.exists()) continue;
      const Fact& of_a = a.fact(input);
      const Fact& of_b = b.fact(input);
      if (of_a.is_constant() != of_b.is_constant() || of_a.dtype != of_b.dtype ||
          of_a.shape.rank() != of_b.shape.rank())
        return false;
      if (of_a.is_constant() && !same_constants(of_a, of_b)) return false;
    }
  }
  return true;
}

// Products that a Gemm takes up are written with the addition after them.
bool is_inside_gemm(const Graph& graph, const Node& node) {
  if (node.spec != &kMatmul || !graph.has_one_reader(node.outputs[0])) return false;
  return onnx_export::product_of_gemm(graph, graph.node(graph.readers(node.outputs[0]).front())) == &node;
}

void write_nodes(OnnxWriter& writer) {
  const Graph& graph = writer.graph();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (is_inside_gemm(graph, node)) continue;
    const onnx_export::WriteNode write = onnx_export::writer_of(*node.spec);
    NodeExport exported(writer, id);
    if (write != nullptr) write(exported);
    else writer.refuse(node, "the operator " + std::string(node.spec->name), "one that ONNX has");
  }
  writer.finish_outputs();
}

Result<std::string> serialize(const onnx::ModelProto& model) {
  const std::size_t bytes = model.ByteSizeLong();
  constexpr std::size_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (bytes > kLargest) {
    return Error{ErrorKind::unsupported, "network '" + model.graph().name() + "'", std::to_string(bytes) + " bytes",
                 "at most 2 GB, which is what a file in this format can be", ""};
  }
  return model.SerializeAsString();
}

}  // namespace

Result<std::string> export_onnx(const Graph& graph, const OnnxExportOptions& options) {
  Graph first = graph;
  if (const Status done = make_channels_first(first); !done) return done.errors();
  Graph second;
  if (options.other_batch != nullptr) {
    second = *options.other_batch;
    if (const Status done = make_channels_first(second); !done) return done.errors();
  }
  const bool has_other = options.other_batch != nullptr && is_same_network(first, second);
  OnnxWriter writer(first, has_other ? &second : nullptr, options.name);
  write_nodes(writer);
  if (writer.has_given_up()) return export_onnx(graph, {.name = options.name});
  if (!writer.errors().empty()) return writer.errors();
  return serialize(writer.model());
}

}  // namespace octavo
