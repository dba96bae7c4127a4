// Nodes and seeded weights. Part of zoo/.
#include "zoo/builder.h"

#include <cmath>

namespace octavo::zoo {

void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (std::int64_t value : values) attribute->add_ints(value);
}

void set_int(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void set_float(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}

namespace {

void set_tensor_info(onnx::ValueInfoProto& info, const std::string& name,
                     const std::vector<std::int64_t>& dims_after_batch) {
  info.set_name(name);
  auto* type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("batch");
  for (std::int64_t dim : dims_after_batch) type->mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

OnnxBuilder::OnnxBuilder(std::string name, std::uint64_t seed, Weights weights, const std::vector<std::int64_t>& input)
    : random_(seed), weights_(weights) {
  constexpr int kOpset = 17;
  model_.set_ir_version(8);
  model_.set_producer_name("octavo zoo");
  model_.add_opset_import()->set_version(kOpset);
  model_.mutable_graph()->set_name(std::move(name));
  set_tensor_info(*model_.mutable_graph()->add_input(), "input", input);
}

// Sum of twelve uniforms: near enough to normal, and the same on every machine, unlike the standard library's.
double OnnxBuilder::normal() {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_() >> 11) * 0x1p-53;
  return sum;
}

onnx::NodeProto& OnnxBuilder::node(const std::string& op, const std::vector<std::string>& inputs) {
  onnx::NodeProto& made = *model_.mutable_graph()->add_node();
  made.set_op_type(op);
  made.set_name(op + "_" + std::to_string(count_++));
  for (const std::string& input : inputs) made.add_input(input);
  made.add_output(made.name() + "_output");
  return made;
}

std::string OnnxBuilder::tensor(const std::string& name, const std::vector<std::int64_t>& shape, double deviation) {
  onnx::TensorProto& made = *model_.mutable_graph()->add_initializer();
  made.set_name(name);
  made.set_data_type(onnx::TensorProto::FLOAT);
  std::size_t count = 1;
  for (std::int64_t dim : shape) {
    made.add_dims(dim);
    count *= static_cast<std::size_t>(dim);
  }
  std::vector<float> values(count, 0.0f);
  if (deviation != 0.0 && weights_ == Weights::seeded) {
    for (float& value : values) value = static_cast<float>(normal() * deviation);
  }
  made.set_raw_data(values.data(), values.size() * sizeof(float));
  return name;
}

std::string OnnxBuilder::integers(const std::vector<std::int64_t>& values) {
  onnx::TensorProto& made = *model_.mutable_graph()->add_initializer();
  made.set_name("integers_" + std::to_string(count_++));
  made.set_data_type(onnx::TensorProto::INT64);
  made.add_dims(std::ssize(values));
  made.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return made.name();
}

std::string OnnxBuilder::scalar_node(float value) {
  onnx::NodeProto& made = node("Constant", {});
  onnx::AttributeProto* attribute = made.add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute->mutable_t()->set_raw_data(&value, sizeof value);
  return made.output(0);
}

Wire OnnxBuilder::conv(const Wire& x, const ConvShape& shape, Activation activation) {
  const std::string name = "Conv_" + std::to_string(count_);
  const std::int64_t in_per_group = x.channels / shape.groups;
  // He initialisation over the fan-in keeps the signal's scale through networks without batch norms.
  const double fan_in = static_cast<double>(in_per_group * shape.kernel * shape.kernel);
  const std::string w =
      tensor(name + ".weight", {shape.out, in_per_group, shape.kernel, shape.kernel}, std::sqrt(2.0 / fan_in));
  const std::string b = tensor(name + ".bias", {shape.out}, 0.0);
  onnx::NodeProto& made = node("Conv", {x.name, w, b});
  const std::int64_t padding = shape.padding >= 0 ? shape.padding : (shape.kernel - 1) / 2;
  set_ints(made, "dilations", {1, 1});
  set_int(made, "group", shape.groups);
  set_ints(made, "kernel_shape", {shape.kernel, shape.kernel});
  set_ints(made, "pads", {padding, padding, padding, padding});
  set_ints(made, "strides", {shape.stride, shape.stride});
  if (shape.norm == Norm::batch) normalized_.push_back(made.name());
  return activate(output_of(made, shape.out), activation);
}

Wire OnnxBuilder::activate(const Wire& x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return output_of(node("Relu", {x.name}), x.channels);
    case Activation::relu6: {
      const std::string low = scalar_node(0.0f);
      const std::string high = scalar_node(6.0f);
      return output_of(node("Clip", {x.name, low, high}), x.channels);
    }
    case Activation::silu: return mul(x, sigmoid(x));
    case Activation::hard_swish: return output_of(node("HardSwish", {x.name}), x.channels);
  }
  return x;
}

Wire OnnxBuilder::sigmoid(const Wire& x) { return output_of(node("Sigmoid", {x.name}), x.channels); }

Wire OnnxBuilder::hard_sigmoid(const Wire& x) {
  onnx::NodeProto& made = node("HardSigmoid", {x.name});
  set_float(made, "alpha", 1.0f / 6.0f);
  return output_of(made, x.channels);
}

Wire OnnxBuilder::add(const Wire& a, const Wire& b) { return output_of(node("Add", {a.name, b.name}), a.channels); }

Wire OnnxBuilder::mul(const Wire& a, const Wire& b) { return output_of(node("Mul", {a.name, b.name}), a.channels); }

Wire OnnxBuilder::concat(const Wire& a, const Wire& b) {
  onnx::NodeProto& made = node("Concat", {a.name, b.name});
  set_int(made, "axis", 1);
  return output_of(made, a.channels + b.channels);
}

Wire OnnxBuilder::max_pool(const Wire& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                           bool is_ceil) {
  onnx::NodeProto& made = node("MaxPool", {x.name});
  set_int(made, "ceil_mode", is_ceil ? 1 : 0);
  set_ints(made, "dilations", {1, 1});
  set_ints(made, "kernel_shape", {kernel, kernel});
  set_ints(made, "pads", {padding, padding, padding, padding});
  set_ints(made, "strides", {stride, stride});
  return output_of(made, x.channels);
}

Wire OnnxBuilder::average_pool_to_same(const Wire& x) {
  onnx::NodeProto& made = node("AveragePool", {x.name});
  set_ints(made, "kernel_shape", {1, 1});
  set_ints(made, "strides", {1, 1});
  return output_of(made, x.channels);
}

Wire OnnxBuilder::global_average_pool(const Wire& x) {
  return output_of(node("GlobalAveragePool", {x.name}), x.channels);
}

Wire OnnxBuilder::flatten(const Wire& x, std::int64_t channels) {
  onnx::NodeProto& made = node("Flatten", {x.name});
  set_int(made, "axis", 1);
  return output_of(made, channels);
}

Wire OnnxBuilder::gemm(const Wire& x, std::int64_t out) {
  const std::string name = "Gemm_" + std::to_string(count_);
  const std::string w = tensor(name + ".weight", {out, x.channels}, std::sqrt(2.0 / static_cast<double>(x.channels)));
  const std::string b = tensor(name + ".bias", {out}, 0.0);
  onnx::NodeProto& made = node("Gemm", {x.name, w, b});
  set_float(made, "alpha", 1.0f);
  set_float(made, "beta", 1.0f);
  set_int(made, "transB", 1);
  classifier_bias_ = b;
  return output_of(made, out);
}

onnx::ModelProto OnnxBuilder::finish(const Wire& output, const std::vector<std::int64_t>& sizes) {
  onnx::GraphProto& graph = *model_.mutable_graph();
  for (onnx::NodeProto& made : *graph.mutable_node()) {
    if (made.output(0) == output.name) made.set_output(0, "output");
  }
  set_tensor_info(*graph.add_output(), "output", sizes);
  return std::move(model_);
}

}  // namespace octavo::zoo
