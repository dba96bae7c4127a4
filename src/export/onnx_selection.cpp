// ONNX writers: elements and slices picked or written by index, and the largest ones. Part of export/.
#include "export/onnx_operators.h"
#include "ops/det/det.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/topk/topk.h"

namespace octavo::onnx_export {
namespace {

void write_scatter(NodeExport& node, std::string_view op, ScatterKind kind, const std::int64_t* axis) {
  if (kind == ScatterKind::max || kind == ScatterKind::min)
    return node.refuse("a reduction by " + std::string(name_of(kind)), "none, add or mul, which opset 17 has");
  onnx::NodeProto& made = node.emit(op, node.inputs());
  if (axis != nullptr) set_attribute(made, "axis", *axis);
  if (kind != ScatterKind::assign) set_attribute(made, "reduction", name_of(kind));
}

}  // namespace

void write_det(NodeExport& node) { node.emit("Det", node.inputs()); }

void write_gather_nd(NodeExport& node) {
  set_attribute(node.emit("GatherND", node.inputs()), "batch_dims", node.attrs<GatherNdAttrs>().batch_dims);
}

void write_scatter_elements(NodeExport& node) {
  const auto& attrs = node.attrs<ScatterElementsAttrs>();
  write_scatter(node, "ScatterElements", attrs.kind, &attrs.axis);
}

void write_scatter_nd(NodeExport& node) {
  write_scatter(node, "ScatterND", node.attrs<ScatterNdAttrs>().kind, nullptr);
}

void write_topk(NodeExport& node) {
  const auto& attrs = node.attrs<TopkAttrs>();
  onnx::NodeProto& made = node.emit("TopK", {node.input(0), node.out.integers(node.name("k"), {attrs.k})});
  made.add_output(node.out.name_of(node.node.outputs[1]));
  set_attribute(made, "axis", attrs.axis);
  set_attribute(made, "largest", std::int64_t{attrs.largest});
}

}  // namespace octavo::onnx_export
