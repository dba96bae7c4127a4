// Writing the parts of an ONNX file. Part of export/.
#include "export/onnx_writer.h"

#include "export/onnx.h"
#include "import/onnx/types.h"

namespace octavo::onnx_export {
namespace {

constexpr char kBatch[] = "batch";
constexpr int kIrVersion = 8;  // the one that came with opset 17

void set_tensor(onnx::TensorProto& proto, const std::string& name, const Tensor& tensor) {
  proto.set_name(name);
  proto.set_data_type(onnx_import::onnx_type_of(tensor.dtype()));
  for (const std::int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_raw_data(tensor.data(), tensor.bytes());
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, std::string_view name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

}  // namespace

OnnxWriter::OnnxWriter(const Graph& graph, const Graph* other, const std::string& name)
    : graph_(graph), other_(other), names_(static_cast<std::size_t>(graph.value_count())) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("octavo");
  onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
  opset.set_domain("");
  opset.set_version(kExportOpset);
  model_.mutable_graph()->set_name(name.empty() ? "network" : name);
  for (const ValueId input : graph_.inputs()) {
    std::string& own = names_[static_cast<std::size_t>(input.index)];
    own = fresh(graph_.value(input).name);
    declare(*model_.mutable_graph()->add_input(), own, input);
  }
  reserve_outputs();
}

// The first output that a node's result is gives it its name; others get nodes of their own.
void OnnxWriter::reserve_outputs() {
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ValueId value = graph_.outputs()[i];
    const std::string& name = graph_.output_names()[i];
    taken_.insert(name);
    std::string& own = names_[static_cast<std::size_t>(value.index)];
    if (graph_.value(value).producer.exists() && own.empty()) own = name;
    declare(*model_.mutable_graph()->add_output(), name, value);
  }
}

void OnnxWriter::finish_outputs() {
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const std::string& name = graph_.output_names()[i];
    const std::string from = name_of(graph_.outputs()[i]);
    if (from != name) node("Identity", fresh(name + "/copy"), {from}, name);
  }
}

void OnnxWriter::declare(onnx::ValueInfoProto& info, const std::string& name, ValueId id) {
  info.set_name(name);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_import::onnx_type_of(graph_.fact(id).dtype));
  type.mutable_shape();
  for (int axis = 0; axis < shape(id).rank(); ++axis) {
    onnx::TensorShapeProto::Dimension& dim = *type.mutable_shape()->add_dim();
    if (shape(id)[axis] == other_shape(id)[axis]) dim.set_dim_value(shape(id)[axis]);
    else dim.set_dim_param(kBatch);
  }
}

std::string OnnxWriter::fresh(const std::string& wanted) {
  const std::string base = wanted.empty() ? "value" : wanted;
  std::string name = base;
  for (int i = 1; !taken_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

std::string OnnxWriter::name_of(ValueId id) {
  if (!id.exists()) return "";
  std::string& own = names_[static_cast<std::size_t>(id.index)];
  if (!own.empty()) return own;
  const Value& value = graph_.value(id);
  own = fresh(value.name);
  if (value.fact.is_constant() && !value.producer.exists())
    set_tensor(*model_.mutable_graph()->add_initializer(), own, *value.fact.constant);
  return own;
}

std::string OnnxWriter::constant(const std::string& name, const Tensor& tensor) {
  std::string own = fresh(name);
  set_tensor(*model_.mutable_graph()->add_initializer(), own, tensor);
  return own;
}

std::string OnnxWriter::integers(const std::string& name, const Integers& values) {
  return constant(name, Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

std::string OnnxWriter::scalar(const std::string& name, float value) { return constant(name, Tensor::scalar(value)); }

onnx::NodeProto& OnnxWriter::node(std::string_view op, const std::string& name, const std::vector<std::string>& inputs,
                                  const std::string& output) {
  onnx::NodeProto& made = *model_.mutable_graph()->add_node();
  made.set_op_type(std::string(op));
  made.set_name(name);
  for (int i = 1; !node_names_.insert(made.name()).second; ++i) made.set_name(name + "_" + std::to_string(i));
  std::size_t count = inputs.size();
  while (count > 0 && inputs[count - 1].empty()) --count;
  for (std::size_t i = 0; i < count; ++i) made.add_input(inputs[i]);
  made.add_output(output);
  return made;
}

void OnnxWriter::refuse(const Node& node, std::string found, std::string expected) {
  const std::string where =
      node.origin.empty() ? "node '" + node.name + "' (" + std::string(node.spec->name) + ")" : node.origin;
  errors_.push_back({ErrorKind::unsupported, where, std::move(found), std::move(expected), ""});
}

void set_attribute(onnx::NodeProto& node, std::string_view name, std::int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_attribute(onnx::NodeProto& node, std::string_view name, float value) {
  add_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_attribute(onnx::NodeProto& node, std::string_view name, std::string_view value) {
  add_attribute(node, name, onnx::AttributeProto::STRING).set_s(std::string(value));
}

void set_attribute(onnx::NodeProto& node, std::string_view name, const Integers& values) {
  onnx::AttributeProto& attribute = add_attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

void set_attribute(onnx::NodeProto& node, std::string_view name, const std::vector<float>& values) {
  onnx::AttributeProto& attribute = add_attribute(node, name, onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
}

void set_attribute(onnx::NodeProto& node, std::string_view name, const std::vector<std::string>& values) {
  onnx::AttributeProto& attribute = add_attribute(node, name, onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute.add_strings(value);
}

}  // namespace octavo::onnx_export
