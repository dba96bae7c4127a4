// Inputs of pictures and outputs of another type: what is refused, and what outputs become. Tests of api/.
#include <gtest/gtest.h>

#include "octavo/compile.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

using testing::ModelBuilder;
using Dims = std::vector<std::int64_t>;

Result<v1::CompiledModel> ends_compile(const ModelBuilder& model, const v1::CompileOptions& options) {
  const std::string bytes = model.bytes();
  return v1::compile(std::as_bytes(std::span(bytes)), "net.onnx", options);
}

void expect_refusal(const ModelBuilder& model, const v1::CompileOptions& options, ErrorKind kind,
                    const std::vector<std::string>& parts) {
  const auto compiled = ends_compile(model, options);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.errors()[0].kind, kind);
  for (const std::string& part : parts)
    EXPECT_NE(to_string(compiled.errors()).find(part), std::string::npos) << to_string(compiled.errors());
}

ModelBuilder pass_on(DType dtype, const Dims& dims) {
  ModelBuilder model;
  model.input("x", dtype, dims).node({"Reshape", {"x", "shape"}, {"y"}}).output("y");
  return model.initializer("shape", testing::integers(Shape{1}, {-1}));
}

TEST(TakePictures, RefusesWhatIsNoImage) {
  const v1::CompileOptions options{.precision = Precision::fp32, .pictures = "torch"};
  const auto refused = [&](const ModelBuilder& model, const std::vector<std::string>& parts) {
    expect_refusal(model, options, ErrorKind::usage, parts);
  };
  refused(pass_on(DType::f32, {1, 10}), {"net.onnx: input 'x'", "1x10", "4 axes"});
  refused(pass_on(DType::f32, {3, 8, 8}), {"input 'x'", "3x8x8", "4 axes"});
  refused(pass_on(DType::f32, {1, 4, 8, 8}), {"input 'x'", "1x4x8x8", "1 or 3 channels"});
  refused(pass_on(DType::s64, {1, 3, 8, 8}), {"input 'x'", "s64", "f32, u8 or s8"});
  ModelBuilder two;
  two.input("a", DType::f32, {1, 3, 8, 8}).input("b", DType::f32, {1, 3, 8, 8});
  refused(two.node({"Add", {"a", "b"}, {"y"}}).output("y"), {"net.onnx", "2 inputs", "one"});
}

TEST(TakePictures, RefusesWrongSpecs) {
  for (const char* spec : {"sepia", "mean=1,2", "torch,layout=nhwc"})
    expect_refusal(pass_on(DType::f32, {1, 3, 8, 8}), {.precision = Precision::fp32, .pictures = spec},
                   ErrorKind::usage, {std::string(spec) == "torch,layout=nhwc" ? "1x3x8x8" : "--preprocess"});
}

// x -> 8-bit values of scale 0.5 and this zero point -> their real values, in another shape where asked for.
ModelBuilder rounded(DType type, int zero_point, bool is_reshaped) {
  ModelBuilder model;
  Tensor zero(type, Shape{});
  store_double(zero.view(), 0, zero_point);
  model.input("x", DType::f32, {2, 3}).initializer("scale", testing::floats(Shape{}, {0.5f})).initializer("zero", zero);
  model.node({"QuantizeLinear", {"x", "scale", "zero"}, {"q"}});
  model.node({"DequantizeLinear", {"q", "scale", "zero"}, {is_reshaped ? "real" : "y"}});
  if (is_reshaped) model.initializer("shape", testing::integers(Shape{1}, {-1}));
  if (is_reshaped) model.node({"Reshape", {"real", "shape"}, {"y"}});
  return model.output("y");
}

// The answer for 0.5, 1, -0.5, 100, -100, 0 with what it says of itself.
struct Answer {
  v1::TensorInfo info;
  Tensor tensor;
};
Answer answer_of(const ModelBuilder& model, const v1::CompileOptions& options) {
  const auto compiled = ends_compile(model, options);
  EXPECT_TRUE(compiled) << to_string(compiled.errors());
  if (!compiled) return {};
  auto loaded = v1::Model::load(*compiled);
  auto context = v1::Context::create(*loaded);
  const float x[] = {0.5f, 1.0f, -0.5f, 100.0f, -100.0f, 0.0f};
  Answer answer{context->outputs()[0], Tensor(context->outputs()[0].dtype, Shape(context->outputs()[0].shape))};
  const v1::ConstTensorRef in{DType::f32, context->inputs()[0].shape, x};
  const v1::TensorRef out{answer.info.dtype, answer.info.shape, answer.tensor.data()};
  EXPECT_TRUE(context->run({&in, 1}, {&out, 1}));
  return answer;
}

using Floats = std::vector<float>;

TEST(DeliverAs, TheIntegersThatAreComputed) {
  for (const bool is_reshaped : {false, true}) {
    for (const Precision precision : {Precision::int8, Precision::fp32}) {
      const ModelBuilder model = rounded(DType::u8, 10, is_reshaped);
      const Answer u8 = answer_of(model, {.precision = precision, .output_type = DType::u8});
      ASSERT_EQ(u8.info.dtype, DType::u8);
      EXPECT_EQ(u8.info.name, "y");
      EXPECT_EQ(u8.info.scale, Floats{0.5f});
      EXPECT_EQ(u8.info.zero_point, std::vector<std::int32_t>{10});
      EXPECT_EQ(to_floats(u8.tensor.view()), (Floats{11, 12, 9, 210, 0, 10}));
      // The other sign: 128 less.
      const Answer s8 = answer_of(model, {.precision = precision, .output_type = DType::s8});
      ASSERT_EQ(s8.info.dtype, DType::s8);
      EXPECT_EQ(s8.info.zero_point, std::vector<std::int32_t>{-118});
      EXPECT_EQ(to_floats(s8.tensor.view()), (Floats{-117, -116, -119, 82, -128, -118}));
    }
  }
}

TEST(DeliverAs, RealValuesOfIntegers) {
  ModelBuilder model;
  model.input("x", DType::f32, {2, 3}).initializer("scale", testing::floats(Shape{}, {0.5f}));
  model.initializer("zero", Tensor::scalar(std::int8_t{-3}));
  model.node({"QuantizeLinear", {"x", "scale", "zero"}, {"y"}}).output("y");
  const Answer real = answer_of(model, {.precision = Precision::int8, .output_type = DType::f32});
  ASSERT_EQ(real.info.dtype, DType::f32);
  EXPECT_EQ(to_floats(real.tensor.view()), (Floats{0.5f, 1.0f, -0.5f, 65.0f, -62.5f, 0.0f}));
  const Answer u8 = answer_of(model, {.precision = Precision::int8, .output_type = DType::u8});
  EXPECT_EQ(u8.info.zero_point, std::vector<std::int32_t>{125});
  EXPECT_EQ(to_floats(u8.tensor.view()), (Floats{126, 127, 124, 255, 0, 125}));
  // What is of that type stays.
  const Answer s8 = answer_of(model, {.precision = Precision::int8, .output_type = DType::s8});
  EXPECT_EQ(to_floats(s8.tensor.view()), (Floats{-2, -1, -4, 127, -128, -3}));
}

// Every output that cannot be delivered is named, with what computes it.
TEST(DeliverAs, RefusesTheRest) {
  ModelBuilder model;
  model.input("x", DType::f32, {2, 3});
  model.node({"Softmax", {"x"}, {"shares"}, {}, "", "soft"}).output("shares");
  model.node({"ArgMax", {"x"}, {"best"}, {}, "", "arg"}).output("best");
  expect_refusal(model, {.precision = Precision::fp32, .output_type = DType::u8}, ErrorKind::usage,
                 {"output 'shares'", "f32, computed by node 'soft'", "output 'best'", "s64, computed by node 'arg'",
                  "expected u8"});
  expect_refusal(model, {.precision = Precision::fp32, .output_type = DType::f32}, ErrorKind::usage, {"output 'best'"});
  expect_refusal(model, {.precision = Precision::fp32, .output_type = DType::s32}, ErrorKind::usage,
                 {"--output-type", "s32", "f32, u8 or s8"});
}

// With it a file that rounds everything but its ends is one in integers.
TEST(DeliverAs, IntegersFromEndToEnd) {
  ModelBuilder model;
  model.input("x", DType::f32, {1, 3, 4, 4}).initializer("scale", testing::floats(Shape{}, {0.5f}));
  model.initializer("zero", Tensor::scalar(std::uint8_t{10}));
  model.node({"QuantizeLinear", {"x", "scale", "zero"}, {"q"}});
  model.node({"DequantizeLinear", {"q", "scale", "zero"}, {"y"}}).output("y");
  const v1::CompileOptions options{.pictures = "torch", .output_type = DType::u8, .integer_only = true};
  const auto compiled = ends_compile(model, options);
  EXPECT_TRUE(compiled) << to_string(compiled.errors());
  expect_refusal(model, {.pictures = "torch", .integer_only = true}, ErrorKind::unsupported, {"output 'y'"});
}

}  // namespace
}  // namespace octavo
