// The same bits everywhere, on small networks that hold every kind of operator between them. Part of the tests of whole
// models.
#include <gtest/gtest.h>

#include "base/machine.h"
#include "bits/dialect_net.h"
#include "bits/same_bits.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;
using I = std::int64_t;

std::string scalar(Net& net, float value) { return net.constant(floats({}, {value})); }
std::string swish(Net& net, const std::string& x) { return net.op("Mul", {x, net.op("Sigmoid", {x})}); }

std::string squeeze_excite(Net& net, const std::string& x, I channels, I inner) {
  const std::string squeezed =
      net.op("Relu", {net.conv(net.op("GlobalAveragePool", {x}), {.in = channels, .out = inner})});
  return net.op(
      "Mul", {x, net.op("HardSigmoid", {net.conv(squeezed, {.in = inner, .out = channels})}, {{"alpha", 1.0f / 6}})});
}

// x / 2 * (1 + erf(x / sqrt(2))), as exporters write it.
std::string gelu(Net& net, const std::string& x) {
  const std::string erf = net.op("Erf", {net.op("Div", {x, scalar(net, 1.41421356f)})});
  return net.op("Mul", {net.op("Mul", {x, net.op("Add", {erf, scalar(net, 1.0f)})}), scalar(net, 0.5f)});
}

// Mobile blocks: strided, depthwise 3x3 and 5x5, squeeze-excite, SiLU, hard-swish, ReLU6, residual, classifier.
ModelBuilder mobile() {
  Net net(1);
  const std::string stem =
      swish(net, net.conv(net.input("x", DType::f32, {3, 17, 19}), {.in = 3, .out = 16, .kernel = 3, .stride = 2}));
  std::string x = net.op("HardSwish", {net.conv(stem, {.in = 16, .out = 16, .kernel = 3, .groups = 16})});
  x = net.op("Add", {stem, net.conv(squeeze_excite(net, x, 16, 4), {.in = 16, .out = 16})});
  x = net.op("Clip", {net.conv(x, {.in = 16, .out = 24}), scalar(net, 0.0f), scalar(net, 6.0f)});
  x = swish(net, net.conv(x, {.in = 24, .out = 24, .kernel = 5, .stride = 2, .groups = 24}));
  x = net.op("Flatten", {net.op("GlobalAveragePool", {x})});
  net.output(net.op("Gemm", {x, net.random({24, 10}, 0.5f), net.random({10}, 0.5f)}));
  return net.builder();
}

// Groups, dilation, pools, concatenation, channel shuffle, split, resize, leaky ReLU, two outputs.
ModelBuilder branches() {
  Net net(2);
  std::string x = net.op(
      "Relu", {net.conv(net.input("x", DType::f32, {8, 13, 11}), {.in = 8, .out = 16, .kernel = 3, .groups = 4})});
  const std::vector<NamedAttribute> window = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}};
  const std::string wide = net.conv(x, {.in = 16, .out = 16, .kernel = 3, .dilation = 2});
  x = net.op("Concat", {net.op("MaxPool", {x}, window), net.op("AveragePool", {x}, window), wide}, {{"axis", I{1}}});
  x = net.op("Transpose", {net.reshape(x, {0, 4, 12, 13, 11})}, {{"perm", Ints{0, 2, 1, 3, 4}}});
  const std::vector<std::string> halves = net.ops("Split", {net.reshape(x, {0, 48, 13, 11})}, 2, {{"axis", I{1}}});
  const std::string narrow = net.op("LeakyRelu", {net.conv(halves[0], {.in = 24, .out = 9})}, {{"alpha", 0.125f}});
  net.output(
      net.op("Resize", {narrow, "", net.constant(floats({4}, {1, 1, 2, 2}))}, {{"mode", std::string("nearest")}}));
  const std::string pooled = net.op("Flatten", {net.op("GlobalAveragePool", {net.op("Tanh", {halves[1]})})});
  net.output(net.op("Softmax", {pooled}, {{"axis", I{1}}}));
  return net.builder();
}

std::string project(Net& net, const std::string& x, I in, I out) {
  return net.op("MatMul", {x, net.random({in, out}, 0.4f)});
}

// Layer norm, GELU, attention: products of two activations.
ModelBuilder tokens() {
  Net net(3);
  const std::string start = net.input("x", DType::f32, {12, 32});
  std::string x =
      net.op("LayerNormalization", {start, net.random({32}, 1.0f), net.random({32}, 0.5f)}, {{"axis", I{-1}}});
  const std::string keys = net.op("Transpose", {project(net, x, 32, 16)}, {{"perm", Ints{0, 2, 1}}});
  const std::string scores = net.op("Softmax", {net.op("MatMul", {project(net, x, 32, 16), keys})}, {{"axis", I{-1}}});
  const std::string attended = net.op("Add", {start, net.op("MatMul", {scores, project(net, x, 32, 32)})});
  x = project(net, gelu(net, project(net, attended, 32, 64)), 64, 32);
  net.output(net.op("ReduceMean", {net.op("Add", {attended, x})}, {{"axes", Ints{1}}, {"keepdims", I{0}}}));
  return net.builder();
}

// Between two quantized convolutions, float on purpose: what has no scales is computed by our own float kernels.
ModelBuilder islands() {
  DialectNet net(Dialect{.form = Form::qdq, .activations = DType::u8}, 4);
  const Quantized x = net.quantize(net.net().input("x", DType::f32, {3, 12, 10}), {0x1p-6f, 120});
  const std::string stem = net.dequantize(net.conv(x, {.in = 3, .out = 12, .kernel = 3}, {0x1p-5f, 101}));
  Net& floating = net.net();
  std::string y = floating.op("Sqrt", {floating.op("Abs", {floating.conv(stem, {.in = 12, .out = 8, .kernel = 3})})});
  y = floating.op("Resize", {y, "", floating.constant(floats({4}, {1, 1, 1.5f, 1.5f}))},
                  {{"mode", std::string("linear")}});
  y = floating.op("LRN", {floating.op("Exp", {y})}, {{"size", I{3}}});
  y = floating.op("Div",
                  {y, floating.op("ReduceSum", {y, floating.constant(integers({1}, {1}))}, {{"keepdims", I{1}}})});
  y = floating.op("Softmax", {swish(floating, floating.conv(y, {.in = 8, .out = 8, .kernel = 3, .groups = 8}))},
                  {{"axis", I{1}}});
  const Quantized back = net.quantize(floating.op("AveragePool", {y}, {{"kernel_shape", Ints{2, 2}}}), {0x1p-8f, 0});
  floating.output(net.dequantize(net.conv(back, {.in = 8, .out = 5}, {0x1p-6f, 128})));
  floating.output(floating.op("ReduceMax", {y}, {{"axes", Ints{2, 3}}, {"keepdims", I{0}}}));
  return floating.builder();
}

// Scales found at run time, over the whole batch.
ModelBuilder dynamic() {
  Net net(5);
  const std::string x = net.input("x", DType::f32, {8, 9, 7});
  auto quantized = net.ops("DynamicQuantizeLinear", {x}, 3);
  const Tensor zero = Tensor::scalar<std::int8_t>(0);
  const ConvShape shape{.in = 8, .out = 12, .kernel = 3};
  std::string sums = net.op(
      "ConvInteger", {quantized[0], net.constant(net.random_s8(shape.weights())), quantized[2], net.constant(zero)},
      shape.attributes());
  const auto real = [&](const std::string& integers, const std::string& scale) {
    return net.op("Mul", {net.op("Cast", {integers}, {{"to", I{1}}}), net.op("Mul", {scale, scalar(net, 0.01f)})});
  };
  const std::string y = net.op("Flatten", {net.op("Relu", {real(sums, quantized[1])})});
  quantized = net.ops("DynamicQuantizeLinear", {y}, 3);
  sums = net.op("MatMulInteger",
                {quantized[0], net.constant(net.random_s8({12 * 9 * 7, 10})), quantized[2], net.constant(zero)});
  net.output(real(sums, quantized[1]));
  return net.builder();
}

void expect_same_built_bits(const ModelBuilder& builder, v1::CompileOptions options, bool rows_are_independent = true) {
  const ModelFile file(builder);
  testing::expect_same_bits(
      {.path = file.path(), .options = std::move(options), .rows_are_independent = rows_are_independent});
}

TEST(Bits, NoOutputIsExempt) { EXPECT_TRUE(kExemptOutputs.empty()); }
TEST(Bits, Digits) {
  testing::expect_same_bits(
      {.path = OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx", .options = {.samples = random_samples(4)}});
}
TEST(Bits, MobileBlocks) { expect_same_built_bits(mobile(), {.samples = random_samples(4)}); }
TEST(Bits, Branches) { expect_same_built_bits(branches(), {.samples = random_samples(4)}); }
TEST(Bits, Tokens) { expect_same_built_bits(tokens(), {.samples = random_samples(4)}); }
TEST(Bits, FloatIslands) { expect_same_built_bits(islands(), {}); }
TEST(Bits, DynamicScales) { expect_same_built_bits(dynamic(), {}, false); }

// The other tests leave out what this machine lacks; here each target of its processor counts as skipped.
std::vector<std::string> targets_of_processor() {
  if (host_machine().isa.has(Isa::neon)) return {"arm64-neon", "arm64-dotprod", "arm64-i8mm"};
  return {"avx2", "avxvnni", "avx512vnni"};
}
class BitsTarget : public ::testing::TestWithParam<std::string> {};
TEST_P(BitsTarget, ComparedWithScalar) {
  const std::string target = GetParam();
  if (!host_has(target)) GTEST_SKIP() << "needs " << target << ": no model's bits were compared on it";
  const ModelFile file(mobile());
  testing::expect_same_bits({.path = file.path(), .options = {.samples = random_samples(4)}}, {target, "scalar"});
}
INSTANTIATE_TEST_SUITE_P(, BitsTarget, ::testing::ValuesIn(targets_of_processor()), [](const auto& test) {
  return test.param.substr(test.param.find('-') + 1);  // a name has no hyphens
});

TEST(Bits, EveryDialect) {
  for (const Dialect& dialect : kDialects) {
    SCOPED_TRACE(name_of(dialect));
    expect_same_built_bits(dialect_network(dialect, Ends::floats), {});
  }
}

}  // namespace
}  // namespace octavo::testing
