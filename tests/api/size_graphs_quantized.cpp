// Small quantized graphs with open sizes, in the dialects of ONNX. For the tests of api/.
#include "api/open_networks.h"
#include "api/size_graphs.h"

namespace octavo::testing {
namespace {

const v1::CompileOptions kAsTheFile{.allow_reference = true};
const v1::CompileOptions kInt8{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};

Tensor drawn_s8(const Shape& shape) {
  Tensor tensor(DType::s8, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    store_double(tensor.view(), i, static_cast<double>(i * 37 % 201 - 100));
  return tensor;
}

// A scale and a zero point of u8.
std::vector<std::string> parameters(Network& net, const std::string& name, float scale, int zero_point = 128) {
  net.builder.initializer(name + "_scale", floats({}, {scale}));
  net.builder.initializer(name + "_zero", Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(zero_point)));
  return {name + "_scale", name + "_zero"};
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The value, quantized and dequantized.
std::string paired(Network& net, const std::string& x, float scale, int zero_point = 128) {
  const std::vector<std::string> own = parameters(net, x, scale, zero_point);
  net.node("QuantizeLinear", joined({x}, own), x + "_q");
  return net.node("DequantizeLinear", joined({x + "_q"}, own), x + "_dq");
}
std::string weights(Network& net, const std::string& name, const Shape& shape) {
  net.builder.initializer(name + "_s8", drawn_s8(shape));
  net.builder.initializer(name + "_scale", floats({}, {0.005f}));
  net.builder.initializer(name + "_zero", Tensor::scalar<std::int8_t>(0));
  return net.node("DequantizeLinear", {name + "_s8", name + "_scale", name + "_zero"}, name);
}

void images(Network& net) { net.builder.input("x", DType::f32, {-1, 3, -2, -3}); }
void rows(Network& net) { net.builder.input("x", DType::f32, {-1, -2, 8}); }

void qdq_conv(Network& net) {
  images(net);
  net.node("Conv", {paired(net, "x", 0.01f), weights(net, "w", {8, 3, 3, 3})}, "a",
           {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  net.node("Relu", {"a"}, "b");
  net.node("MaxPool", {paired(net, "b", 0.02f, 0)}, "c", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  net.node("Conv", {paired(net, "c", 0.02f, 0), weights(net, "v", {8, 8, 1, 1})}, "d");
  net.builder.output(paired(net, "d", 0.05f));
}
void qdq_classifier(Network& net) {
  images(net);
  net.node("Conv", {paired(net, "x", 0.01f), weights(net, "w", {8, 3, 3, 3})}, "a", {{"pads", Ints{1, 1, 1, 1}}});
  net.node("GlobalAveragePool", {paired(net, "a", 0.03f)}, "b");
  net.node("Flatten", {paired(net, "b", 0.03f)}, "c");
  net.node("Gemm", {paired(net, "c", 0.03f), weights(net, "v", {8, 5})}, "d");
  net.builder.output(paired(net, "d", 0.05f));
}
void qdq_residual(Network& net) {
  images(net);
  const std::string x = paired(net, "x", 0.01f);
  net.node("Conv", {x, weights(net, "w", {3, 3, 3, 3})}, "a", {{"pads", Ints{1, 1, 1, 1}}});
  net.node("Add", {paired(net, "a", 0.03f), x}, "b");
  net.node("Concat", {paired(net, "b", 0.03f), x}, "c", {{"axis", std::int64_t{1}}});
  net.builder.output(paired(net, "c", 0.03f));
}
void qdq_rows(Network& net) {
  rows(net);
  net.node("MatMul", {paired(net, "x", 0.01f), weights(net, "w", {8, 12})}, "a");
  net.node("Mul", {paired(net, "a", 0.03f), net.node("Sigmoid", {"a_dq"}, "gate")}, "b");
  net.node("MatMul", {paired(net, "b", 0.03f), weights(net, "v", {12, 8})}, "c");
  net.node("Add", {paired(net, "c", 0.03f), "x_dq"}, "d");
  net.builder.output(paired(net, "d", 0.05f));
}
void qdq_attention(Network& net) {
  rows(net);
  const std::string x = paired(net, "x", 0.01f);
  for (const std::string name : {"q", "k", "v"}) {
    net.node("MatMul", {x, weights(net, name + "_w", {8, 8})}, name + "_p");
    net.heads(paired(net, name + "_p", 0.03f), net.ints(name + "_by_head", {0, 0, 2, 4}), {0, 2, 1, 3}, name);
  }
  net.node("Transpose", {"k"}, "keys", {{"perm", Ints{0, 1, 3, 2}}});
  net.node("MatMul", {"q", "keys"}, "scores");
  net.node("Softmax", {paired(net, "scores", 0.02f)}, "shares", {{"axis", std::int64_t{-1}}});
  net.node("MatMul", {paired(net, "shares", 1.0f / 256, 0), "v"}, "mixed");
  net.node("Transpose", {paired(net, "mixed", 0.02f)}, "by_row", {{"perm", Ints{0, 2, 1, 3}}});
  net.builder.output(net.node("Reshape", {"by_row", net.ints("joined", {0, 0, 8})}, "y"));
}
void qdq_with_past(Network& net) {
  rows(net);
  net.builder.input("past", DType::f32, {-1, -3, 8});
  net.node("Concat", {paired(net, "past", 0.01f), paired(net, "x", 0.01f)}, "all", {{"axis", std::int64_t{1}}});
  const std::string all = paired(net, "all", 0.01f);
  net.node("Slice", {all, net.ints("start", {-3}), net.ints("end", {1 << 20}), net.ints("along", {1})}, "last");
  net.node("MatMul", {paired(net, "last", 0.01f), weights(net, "w", {8, 6})}, "y");
  net.builder.output(paired(net, "y", 0.03f)).output(all);
}
void qdq_resized(Network& net) {
  images(net);
  net.node("Conv", {paired(net, "x", 0.01f), weights(net, "w", {4, 3, 3, 3})}, "a",
           {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  const std::string a = paired(net, "a", 0.03f);
  net.resized(a, "x", "b");
  net.builder.output(paired(net, "b", 0.03f));
}
void qlinear_conv(Network& net) {
  net.builder.input("x", DType::u8, {-1, 3, -2, -3});
  net.builder.initializer("w", drawn_s8({4, 3, 3, 3})).initializer("w_scale", floats({}, {0.005f}));
  net.builder.initializer("w_zero", Tensor::scalar<std::int8_t>(0));
  const std::vector<std::string> of_x = parameters(net, "x", 0.01f), of_a = parameters(net, "a", 0.03f);
  net.node("QLinearConv", joined(joined(joined({"x"}, of_x), {"w", "w_scale", "w_zero"}), of_a), "a",
           {{"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 1}}});
  net.builder.output(net.node("DequantizeLinear", joined({"a"}, of_a), "y"));
}
void qlinear_rows(Network& net) {
  net.builder.input("x", DType::u8, {-1, -2, 8});
  net.builder.initializer("w", drawn_s8({8, 8})).initializer("w_scale", floats({}, {0.005f}));
  net.builder.initializer("w_zero", Tensor::scalar<std::int8_t>(0));
  const std::vector<std::string> of_x = parameters(net, "x", 0.01f), of_a = parameters(net, "a", 0.03f);
  net.node("QLinearMatMul", joined(joined(joined({"x"}, of_x), {"w", "w_scale", "w_zero"}), of_a), "a");
  net.builder.opset_import("com.microsoft", 1);
  net.builder.node({.op = "QLinearAdd",
                    .inputs = joined(joined(joined({"a"}, of_a), joined({"x"}, of_x)), of_a),
                    .outputs = {"y"},
                    .domain = "com.microsoft"});
  net.builder.output("y");
}
void dynamic_rows(Network& net) {
  rows(net);
  net.nodes("DynamicQuantizeLinear", {"x"}, {"x_q", "x_scale", "x_zero"});
  net.builder.initializer("w", drawn_s8({8, 6})).initializer("w_scale", floats({}, {0.005f}));
  net.builder.initializer("w_zero", Tensor::scalar<std::int8_t>(0));
  net.node("MatMulInteger", {"x_q", "w", "x_zero", "w_zero"}, "sums");
  net.node("Cast", {"sums"}, "real", {{"to", std::int64_t{1}}});
  net.builder.output(net.node("Mul", {"real", net.node("Mul", {"x_scale", "w_scale"}, "scale")}, "y"));
}
void dynamic_conv(Network& net) {
  images(net);
  net.nodes("DynamicQuantizeLinear", {"x"}, {"x_q", "x_scale", "x_zero"});
  net.builder.initializer("w", drawn_s8({4, 3, 3, 3})).initializer("w_scale", floats({}, {0.005f}));
  net.builder.initializer("w_zero", Tensor::scalar<std::int8_t>(0));
  net.node("ConvInteger", {"x_q", "w", "x_zero", "w_zero"}, "sums", {{"pads", Ints{1, 1, 1, 1}}});
  net.node("Cast", {"sums"}, "real", {{"to", std::int64_t{1}}});
  net.builder.output(net.node("Mul", {"real", net.node("Mul", {"x_scale", "w_scale"}, "scale")}, "y"));
}

}  // namespace

std::vector<SizeGraph> quantized_graphs() {
  const auto no_pixels = [](const SizeMap& sizes) { return sizes.at("N2") == 0 || sizes.at("N3") == 0; };
  return {
      {.name = "qdq_conv", .bytes = onnx_of(qdq_conv), .is_refused = no_pixels, .options = kAsTheFile},
      {.name = "qdq_classifier", .bytes = onnx_of(qdq_classifier), .is_refused = no_pixels, .options = kAsTheFile},
      {.name = "qdq_residual", .bytes = onnx_of(qdq_residual), .is_refused = no_pixels, .options = kAsTheFile},
      {.name = "qdq_rows", .bytes = onnx_of(qdq_rows), .options = kAsTheFile},
      {.name = "qdq_attention", .bytes = onnx_of(qdq_attention), .options = kAsTheFile},
      {.name = "qdq_with_past", .bytes = onnx_of(qdq_with_past), .options = kAsTheFile},
      {.name = "qdq_resized", .bytes = onnx_of(qdq_resized), .is_refused = no_pixels, .options = kAsTheFile},
      {.name = "qlinear_conv", .bytes = onnx_of(qlinear_conv), .is_refused = no_pixels, .options = kAsTheFile},
      {.name = "qlinear_rows", .bytes = onnx_of(qlinear_rows), .options = kAsTheFile},
      {.name = "dynamic_rows", .bytes = onnx_of(dynamic_rows), .options = kAsTheFile},
      {.name = "dynamic_conv", .bytes = onnx_of(dynamic_conv), .is_refused = no_pixels, .options = kAsTheFile},
      {.name = "pyramid_int8", .bytes = file_of(write_pyramid), .is_refused = no_pixels, .options = kInt8},
      {.name = "encoder_int8", .bytes = file_of(write_encoder), .options = kInt8},
      {.name = "decoder_step_int8", .bytes = file_of(write_decoder_step), .options = kInt8},
  };
}

}  // namespace octavo::testing
