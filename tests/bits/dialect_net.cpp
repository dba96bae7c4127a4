// One quantized network in four dialects. Part of the tests of whole models.
#include "bits/dialect_net.h"

#include <cmath>

namespace octavo::testing {
namespace {

const std::string kMicrosoft = "com.microsoft";
using Ints = std::vector<std::int64_t>;

Tensor zeros(DType dtype, std::int64_t count) { return Tensor(dtype, count == 0 ? Shape{} : Shape{count}); }

}  // namespace

std::string name_of(const Dialect& dialect) {
  return (dialect.form == Form::qdq ? "QDQ " : "QOperator ") + std::string(octavo::name_of(dialect.activations));
}

std::vector<std::string> DialectNet::parameters(Scale scale) {
  Tensor zero_point(dialect_.activations, Shape{});
  store_double(zero_point.view(), 0, scale.zero_point - (dialect_.activations == DType::s8 ? 128 : 0));
  return {net_.constant(floats({}, {scale.scale})), net_.constant(zero_point)};
}

std::vector<std::string> DialectNet::with_parameters(const Quantized& x) {
  const std::vector<std::string> names = parameters(x.scale);
  return {x.name, names[0], names[1]};
}

Quantized DialectNet::input(const std::string& name, const std::vector<std::int64_t>& dims, Scale scale) {
  return {net_.input(name, dialect_.activations, dims), scale};
}

Quantized DialectNet::quantize(const std::string& x, Scale scale) {
  return {net_.op("QuantizeLinear", with_parameters({x, scale})), scale};
}
std::string DialectNet::dequantize(const Quantized& x) { return net_.op("DequantizeLinear", with_parameters(x)); }

std::string DialectNet::dequantized_constant(const std::string& values, const std::string& scales, DType dtype,
                                             std::int64_t channels) {
  return net_.op("DequantizeLinear", {values, scales, net_.constant(zeros(dtype, channels))},
                 {{"axis", std::int64_t{0}}});
}

Quantized DialectNet::conv(const Quantized& x, const ConvShape& shape, Scale scale) {
  const float fan_in = static_cast<float>(shape.in / shape.groups * shape.kernel * shape.kernel);
  std::vector<float> weight_scales, bias_scales;
  std::vector<std::int32_t> biases;
  for (std::int64_t channel = 0; channel < shape.out; ++channel) {
    weight_scales.push_back((0.01f + 0.001f * static_cast<float>(channel % 7)) / std::sqrt(fan_in));
    bias_scales.push_back(x.scale.scale * weight_scales.back());
    biases.push_back(static_cast<std::int32_t>(channel * 211 % 997) - 498);
  }
  const std::string weights = net_.constant(net_.random_s8(shape.weights()));
  const std::string scales = net_.constant(floats({shape.out}, weight_scales));
  const std::string bias = net_.constant(Tensor::of<std::int32_t>(Shape{shape.out}, biases));
  if (!is_qdq()) {
    std::vector<std::string> inputs = with_parameters(x);
    inputs.insert(inputs.end(), {weights, scales, net_.constant(zeros(DType::s8, shape.out))});
    for (const std::string& name : parameters(scale)) inputs.push_back(name);
    inputs.push_back(bias);
    return {net_.op("QLinearConv", inputs, shape.attributes()), scale};
  }
  const std::string real_weights = dequantized_constant(weights, scales, DType::s8, shape.out);
  const std::string real_bias =
      dequantized_constant(bias, net_.constant(floats({shape.out}, bias_scales)), DType::s32, shape.out);
  return quantize(net_.op("Conv", {dequantize(x), real_weights, real_bias}, shape.attributes()), scale);
}

Quantized DialectNet::product(const Quantized& x, std::int64_t in, std::int64_t out, Scale scale) {
  const std::string weights = net_.constant(net_.random_s8({in, out}));
  const std::string weight_scale = net_.constant(floats({}, {0.004f}));
  if (is_qdq())
    return quantize(net_.op("MatMul", {dequantize(x), dequantized_constant(weights, weight_scale, DType::s8, 0)}),
                    scale);
  std::vector<std::string> inputs = with_parameters(x);
  inputs.insert(inputs.end(), {weights, weight_scale, net_.constant(zeros(DType::s8, 0))});
  for (const std::string& name : parameters(scale)) inputs.push_back(name);
  return {net_.op("QLinearMatMul", inputs), scale};
}

Quantized DialectNet::binary(const std::string& op, const Quantized& a, const Quantized& b, Scale scale) {
  if (is_qdq()) return quantize(net_.op(op, {dequantize(a), dequantize(b)}), scale);
  std::vector<std::string> inputs = with_parameters(a);
  for (const std::string& name : with_parameters(b)) inputs.push_back(name);
  for (const std::string& name : parameters(scale)) inputs.push_back(name);
  return {net_.op("QLinear" + op, inputs, {}, kMicrosoft), scale};
}

Quantized DialectNet::unary(const std::string& op, const Quantized& x, Scale scale,
                            const std::vector<NamedAttribute>& attributes) {
  if (is_qdq()) return quantize(net_.op(op, {dequantize(x)}, attributes), scale);
  std::vector<std::string> inputs = with_parameters(x);
  for (const std::string& name : parameters(scale)) inputs.push_back(name);
  std::vector<NamedAttribute> all = attributes;
  if (op == "Softmax") all.push_back({"opset", std::int64_t{17}});
  return {net_.op("QLinear" + op, inputs, all, kMicrosoft), scale};
}

Quantized DialectNet::concat(const std::vector<Quantized>& parts, Scale scale) {
  const std::vector<NamedAttribute> channels = {{"axis", std::int64_t{1}}};
  std::vector<std::string> inputs;
  if (is_qdq()) {
    for (const Quantized& part : parts) inputs.push_back(dequantize(part));
    return quantize(net_.op("Concat", inputs, channels), scale);
  }
  inputs = parameters(scale);
  for (const Quantized& part : parts) {
    for (const std::string& name : with_parameters(part)) inputs.push_back(name);
  }
  return {net_.op("QLinearConcat", inputs, channels, kMicrosoft), scale};
}

Quantized DialectNet::keep(const std::string& op, const Quantized& x, const std::vector<NamedAttribute>& attributes) {
  if (is_qdq()) return quantize(net_.op(op, {dequantize(x)}, attributes), x.scale);
  return {net_.op(op, {x.name}, attributes), x.scale};
}

ModelBuilder dialect_network(const Dialect& dialect, Ends ends) {
  DialectNet net(dialect, 6);
  constexpr Scale kIn{0x1p-6f, 119};
  const Ints dims = {3, 13, 15};
  Quantized x =
      ends == Ends::integers ? net.input("x", dims, kIn) : net.quantize(net.net().input("x", DType::f32, dims), kIn);
  x = net.conv(x, {.in = 3, .out = 16, .kernel = 3, .stride = 2}, {0.0213f, 0});
  Quantized y = net.conv(x, {.in = 16, .out = 16, .kernel = 3, .groups = 16}, {0.0302f, 131});
  y = net.binary("Mul", y, net.unary("Sigmoid", y, {1.0f / 256, 0}), {0.0171f, 17});
  x = net.binary("Add", x, net.conv(y, {.in = 16, .out = 16}, {0.0118f, 140}), {0.0267f, 63});
  const Quantized pooled = net.keep("MaxPool", x, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
  const Quantized mean =
      net.unary("AveragePool", x, {0.0201f, 70}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
  x = net.concat({pooled, net.unary("LeakyRelu", mean, {0.0203f, 40}, {{"alpha", 0.1f}}), y}, {0.0274f, 66});
  x = net.conv(x, {.in = 48, .out = 24, .kernel = 3}, {0.0191f, 122});
  x = net.keep("Flatten", net.unary("GlobalAveragePool", x, {0.0092f, 125}));
  x = net.unary("Softmax", net.product(x, 24, 11, {0.0151f, 121}), {1.0f / 256, 0}, {{"axis", std::int64_t{1}}});
  net.net().output(ends == Ends::integers ? x.name : net.dequantize(x));
  return net.net().builder();
}

}  // namespace octavo::testing
