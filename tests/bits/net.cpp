// Small ONNX networks with random weights. Part of the tests of whole models.
#include "bits/net.h"

#include <cmath>

namespace octavo::testing {

std::vector<NamedAttribute> ConvShape::attributes() const {
  using Ints = std::vector<std::int64_t>;
  const std::int64_t pad = dilation * (kernel - 1) / 2;
  return {{"kernel_shape", Ints{kernel, kernel}},
          {"strides", Ints{stride, stride}},
          {"dilations", Ints{dilation, dilation}},
          {"pads", Ints{pad, pad, pad, pad}},
          {"group", groups}};
}

Net::Net(unsigned seed) : engine_(seed) { builder_.opset_import("com.microsoft", 1); }

std::string Net::input(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> all = {-1};
  all.insert(all.end(), dims.begin(), dims.end());
  builder_.input(name, dtype, all);
  return name;
}

std::string Net::constant(const Tensor& tensor) {
  const std::string name = next_name("c");
  builder_.initializer(name, tensor);
  return name;
}

std::string Net::random(const Shape& shape, float magnitude) {
  std::uniform_real_distribution<float> uniform(-magnitude, magnitude);
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.span<float>()) value = uniform(engine_);
  return constant(tensor);
}

Tensor Net::random_s8(const Shape& shape) {
  Tensor tensor(DType::s8, shape);
  for (std::int8_t& value : tensor.span<std::int8_t>())
    value = static_cast<std::int8_t>(static_cast<int>(engine_() % 255) - 127);
  return tensor;
}

std::string Net::op(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<NamedAttribute>& attributes, const std::string& domain) {
  const std::string name = next_name(op);
  builder_.node(
      {.op = op, .inputs = inputs, .outputs = {name}, .attributes = attributes, .domain = domain, .name = name});
  return name;
}

std::vector<std::string> Net::ops(const std::string& op, const std::vector<std::string>& inputs, int outputs,
                                  const std::vector<NamedAttribute>& attributes) {
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) names.push_back(next_name(op));
  builder_.node({.op = op, .inputs = inputs, .outputs = names, .attributes = attributes, .name = names.front()});
  return names;
}

std::string Net::conv(const std::string& x, const ConvShape& shape) {
  const float fan_in = static_cast<float>(shape.in / shape.groups * shape.kernel * shape.kernel);
  const std::string weights = random(shape.weights(), 2.0f / std::sqrt(fan_in));
  return op("Conv", {x, weights, random(Shape{shape.out}, 0.5f)}, shape.attributes());
}

std::string Net::reshape(const std::string& x, const std::vector<std::int64_t>& dims) {
  return op("Reshape", {x, constant(integers({static_cast<std::int64_t>(dims.size())}, dims))});
}

}  // namespace octavo::testing
