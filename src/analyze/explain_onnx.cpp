// The kernels of a plan as the nodes of an ONNX file, for viewers. Part of analyze/.
#include <onnx/onnx_pb.h>

#include "analyze/explain.h"
#include "import/onnx/types.h"

namespace octavo {
namespace {

constexpr char kDomain[] = "octavo.kernels";

void add_attribute(onnx::NodeProto& node, const std::string& name, double value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(static_cast<float>(value));
}

void add_attribute(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}

void add_step(onnx::GraphProto& graph, const Explanation& e, const ExplainedStep& step) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_name(std::to_string(step.index) + " " + step.name);
  node.set_op_type(step.op);
  node.set_domain(kDomain);
  for (const ExplainedTensor& tensor : step.inputs) node.add_input(tensor.name);
  for (const ExplainedTensor& tensor : step.outputs) node.add_output(tensor.name);
  add_attribute(node, "kernel", step.kernel);
  if (!step.schedule.empty()) add_attribute(node, "schedule", step.schedule);
  add_attribute(node, "type", std::string(name_of(step.type)));
  add_attribute(node, "result", step.outputs.empty() ? "" : step.outputs[0].text);
  add_attribute(node, "ms", step.ms);
  add_attribute(node, "share_percent", e.steps_ms() > 0.0 ? 100.0 * step.ms / e.steps_ms() : 0.0);
  if (step.macs > 0 && e.peak_gmacs(step) > 0.0)
    add_attribute(node, "peak_percent", 100.0 * step.gmacs() / e.peak_gmacs(step));
  if (!step.cause.empty()) add_attribute(node, "cause", step.cause);
  for (std::size_t i = 0; i < step.refusals.size(); ++i)
    add_attribute(node, "refusal_" + std::to_string(i), step.refusals[i]);
}

void set_tensor(onnx::ValueInfoProto& value, const v1::TensorInfo& info) {
  value.set_name(info.name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_import::onnx_type_of(info.dtype));
  for (const std::int64_t dim : info.shape) type->mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

std::string explanation_onnx(const Explanation& e) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("octavo");
  model.set_doc_string("kernels of " + e.model + "; not for running");
  auto* opset = model.add_opset_import();
  opset->set_domain(kDomain);
  opset->set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(e.model);
  for (const v1::TensorInfo& info : e.plan.inputs) set_tensor(*graph.add_input(), info);
  for (const v1::TensorInfo& info : e.plan.outputs) set_tensor(*graph.add_output(), info);
  for (const ExplainedStep& step : e.steps) add_step(graph, e, step);
  return model.SerializeAsString();
}

}  // namespace octavo
