// Small ONNX models made in C++. For the tests of import/ and errors/.
#include "support/onnx_builder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "import/onnx/types.h"
#include "ops/evaluate.h"

namespace octavo::testing {

using onnx_import::onnx_type_of;

namespace {

struct AttributeWriter {
  onnx::AttributeProto& to;
  void operator()(std::int64_t value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(float value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  void operator()(const std::string& value) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    for (auto value : values) to.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    to.set_type(onnx::AttributeProto::FLOATS);
    for (auto value : values) to.add_floats(value);
  }
  void operator()(const Tensor& value) const {
    to.set_type(onnx::AttributeProto::TENSOR);
    set_tensor(*to.mutable_t(), value);
  }
};

}  // namespace

void set_tensor(onnx::TensorProto& proto, const Tensor& tensor) {
  proto.set_data_type(onnx_type_of(tensor.dtype()));
  for (std::int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_raw_data(tensor.data(), tensor.bytes());
}

ModelBuilder& ModelBuilder::opset_import(const std::string& domain, std::int64_t version) {
  model_.set_ir_version(8);
  auto* import = model_.add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
  return *this;
}

ModelBuilder& ModelBuilder::input(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims) {
  auto* info = model_.mutable_graph()->add_input();
  info->set_name(name);
  auto* type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_type_of(dtype));
  type->mutable_shape();
  for (std::int64_t dim : dims) {
    auto* added = type->mutable_shape()->add_dim();
    if (dim < 0) added->set_dim_param(dim == -1 ? "N" : "N" + std::to_string(-dim));
    else added->set_dim_value(dim);
  }
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  model_.mutable_graph()->add_output()->set_name(name);
  return *this;
}

ModelBuilder& ModelBuilder::initializer(const std::string& name, const Tensor& tensor) {
  auto* proto = model_.mutable_graph()->add_initializer();
  proto->set_name(name);
  set_tensor(*proto, tensor);
  return *this;
}

ModelBuilder& ModelBuilder::external_initializer(const std::string& name, DType dtype,
                                                 const std::vector<std::int64_t>& dims, const ExternalData& data) {
  auto* proto = model_.mutable_graph()->add_initializer();
  proto->set_name(name);
  proto->set_data_type(onnx_type_of(dtype));
  for (std::int64_t dim : dims) proto->add_dims(dim);
  proto->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair{"location", data.location}, {"offset", data.offset}, {"length", data.length}}) {
    auto* entry = proto->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return *this;
}

ModelBuilder& ModelBuilder::node(const NodeText& text) {
  auto* node = model_.mutable_graph()->add_node();
  node->set_op_type(text.op);
  node->set_domain(text.domain);
  node->set_name(text.name);
  for (const auto& input : text.inputs) node->add_input(input);
  for (const auto& output : text.outputs) node->add_output(output);
  for (const auto& [name, value] : text.attributes) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    std::visit(AttributeWriter{*attribute}, value);
  }
  return *this;
}

std::string ModelBuilder::bytes() const {
  std::string serialized = model_.SerializeAsString();
  if (const char* folder = std::getenv("OCTAVO_SAVE_MODELS")) {
    std::ofstream(std::string(folder) + "/test" + std::to_string(std::hash<std::string>()(serialized)) + ".onnx",
                  std::ios::binary)
        << serialized;
  }
  return serialized;
}

Result<ImportedModel> ModelBuilder::import(const ImportOptions& options, const std::string& folder) const {
  const std::string serialized = bytes();
  return import_onnx(std::as_bytes(std::span(serialized.data(), serialized.size())), folder, "test.onnx", options);
}

std::vector<Tensor> answers(const ModelBuilder& builder, const std::vector<Tensor>& inputs,
                            const ImportOptions& options) {
  const auto model = builder.import(options);
  if (!model) {
    ADD_FAILURE() << to_string(model.errors());
    return {};
  }
  auto outputs = evaluate(model->graph, inputs);
  if (outputs) return *std::move(outputs);
  ADD_FAILURE() << to_string(outputs.errors()) << '\n' << to_string(model->graph);
  return {};
}

std::vector<Tensor> answers_of(const std::string& op, std::int64_t opset, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& constants, const std::vector<NamedAttribute>& attributes,
                               int outputs, const std::string& domain) {
  ModelBuilder builder(domain.empty() ? opset : 17);
  if (!domain.empty()) builder.opset_import(domain, opset);
  NodeText text{.op = op, .inputs = {}, .outputs = {}, .attributes = attributes, .domain = domain};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text.inputs.push_back("x" + std::to_string(i));
    builder.input(text.inputs.back(), inputs[i].dtype(), inputs[i].shape().to_vector());
  }
  for (std::size_t i = 0; i < constants.size(); ++i) {
    text.inputs.push_back("c" + std::to_string(i));
    builder.initializer(text.inputs.back(), constants[i]);
  }
  for (int i = 0; i < outputs; ++i) {
    text.outputs.push_back("y" + std::to_string(i));
    builder.output(text.outputs.back());
  }
  builder.node(text);
  auto results = answers(builder, inputs);
  results.resize(static_cast<std::size_t>(outputs));  // after a failure too, so that tests can index
  return results;
}

Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::of<float>(std::move(shape), values); }
Tensor integers(Shape shape, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(std::move(shape), values);
}
std::vector<float> as_floats(const Tensor& tensor) {
  return tensor.data() == nullptr ? std::vector<float>{} : to_floats(tensor.view());
}

}  // namespace octavo::testing
