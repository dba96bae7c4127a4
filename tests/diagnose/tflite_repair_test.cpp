// Repairs of TFLite files: what each changes in a small file, a near miss that it leaves alone, and that all else stays
// in the file.
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/repair/repair.h"
#include "diagnose/repair/tflite_edit.h"
#include "support/tflite_builder.h"

namespace octavo::repair {
namespace {

using octavo::testing::options_of;
using octavo::testing::TfliteBuilder;
namespace tfl = octavo::testing::tfl;

template <class T>
Tensor numbers(Shape shape, int least, int most) {
  Tensor tensor(dtype_of<T>, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    store_double(tensor.view(), i, static_cast<double>(least + i * 37 % (most - least + 1)));
  return tensor;
}

// Layers on [1, 8, 8, 4]; `at` is what was made last.
class TfliteRepairNetwork : public TfliteBuilder {
 public:
  TfliteRepairNetwork(DType type, float scale, std::int64_t zero) : scale_(scale), zero_(zero) {
    at = type == DType::f32 ? input({"x", type, {1, 8, 8, 4}}) : input({"x", type, {1, 8, 8, 4}, {scale}, {zero}});
  }

  int activation(DType type, float scale = 0.1f, std::int64_t zero = 0) {
    const std::string name = "a" + std::to_string(count_++);
    if (type == DType::f32) return tensor({name, type, {1, 8, 8, 4}});
    return tensor({name, type, {1, 8, 8, 4}, {scale}, {zero}});
  }
  TfliteRepairNetwork& op(int code, DType result, float scale = 0.1f, std::int64_t zero = 0) {
    const int made = activation(result, scale, zero);
    add({.code = code, .inputs = {at}, .outputs = {made}, .version = 2});
    at = made;
    return *this;
  }
  TfliteRepairNetwork& pool(DType result, float scale = 0.1f, std::int64_t zero = 0) {
    const int made = activation(result, scale, zero);
    add({.code = kMaxPool,
         .inputs = {at},
         .outputs = {made},
         .kind = tfl::BuiltinOptions::Pool2DOptions,
         .options = options_of(tfl::CreatePool2DOptions, std::int8_t{0}, 1, 1, 3, 3, std::int8_t{0}),
         .version = 2});
    at = made;
    return *this;
  }
  // 1x1, or 3x3 by channels.
  TfliteRepairNetwork& product(int code, int weights, int bias, DType result) {
    const int made = activation(result, scale_ * 4, zero_);
    const bool is_depthwise = code == kDepthwiseConv;
    const auto kind = is_depthwise ? tfl::BuiltinOptions::DepthwiseConv2DOptions : tfl::BuiltinOptions::Conv2DOptions;
    add({.code = code,
         .inputs = {at, weights, bias},
         .outputs = {made},
         .kind = kind,
         .options = is_depthwise
                        ? options_of(tfl::CreateDepthwiseConv2DOptions, std::int8_t{0}, 1, 1, 1, std::int8_t{0}, 1, 1)
                        : options_of(tfl::CreateConv2DOptions, std::int8_t{0}, 1, 1, std::int8_t{0}, 1, 1),
         .version = 3});
    at = made;
    return *this;
  }
  std::string file() {
    outputs = {at};
    return bytes();
  }

  int at = 0;

 private:
  float scale_;
  std::int64_t zero_;
  int count_ = 0;
};

Repaired<std::string> tflite_repair_repaired(const std::string& bytes, const std::string& name) {
  auto result = repair_tflite(bytes, "test.tflite", std::vector<std::string>{name});
  EXPECT_TRUE(result) << to_string(result.errors());
  return result ? std::move(*result) : Repaired<std::string>{};
}

std::vector<int> codes_of(const std::string& bytes) {
  const auto edit = TfliteEdit::of(bytes, "test.tflite");
  EXPECT_TRUE(edit) << to_string(edit.errors());
  std::vector<int> codes;
  for (const TfliteOp& op : edit->ops) codes.push_back(op.code);
  return codes;
}

void expect_untouched(const std::string& bytes, const std::string& name) {
  EXPECT_TRUE(tflite_repair_repaired(bytes, name).done.empty()) << name;
}

std::string unsigned_network(int last) {
  TfliteRepairNetwork net(DType::u8, 0.05f, 128);
  const int weights = net.constant(numbers<std::uint8_t>(Shape{4, 1, 1, 4}, 0, 255), {0.01f}, {97});
  net.product(kConv, weights, net.constant(numbers<std::int32_t>(Shape{4}, -900, 900)), DType::u8);
  return net.op(last, DType::u8, 1.0f / 256.0f).file();
}

TEST(TfliteRepair, BytesAreSignedAndInputsAndOutputsStay) {
  const auto result = tflite_repair_repaired(unsigned_network(kLogistic), "signed-bytes");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(result.done[0].places, 2);
  EXPECT_EQ(codes_of(result.model), (std::vector<int>{kQuantize, kConv, kLogistic, kQuantize}));
  const auto edit = TfliteEdit::of(result.model, "test.tflite");
  EXPECT_EQ(edit->tensor(edit->inputs()[0]).dtype, DType::u8);
  EXPECT_EQ(edit->tensor(edit->outputs()[0]).dtype, DType::u8);
  const TfliteTensor& weights = edit->tensor(edit->ops[1].inputs[1]);
  EXPECT_EQ(weights.dtype, DType::s8);
  EXPECT_EQ(weights.quant->scale.size(), 4u);
  EXPECT_EQ(weights.quant->zero_point, std::vector<std::int32_t>(4, 0));
}

TEST(TfliteRepair, BytesStayUnsignedWhereAnOperatorIsUnknown) {
  constexpr int kGather = 36;
  TfliteRepairNetwork net(DType::u8, 0.05f, 128);
  const int weights = net.constant(numbers<std::uint8_t>(Shape{4, 1, 1, 4}, 0, 255), {0.01f}, {97});
  net.product(kConv, weights, net.constant(numbers<std::int32_t>(Shape{4}, -900, 900)), DType::u8);
  const int made = net.tensor({"picked", DType::u8, {1, 8, 8, 4}, {0.2f}, {128}});
  net.add({.code = kGather,
           .inputs = {net.at, net.constant(numbers<std::int32_t>(Shape{1}, 0, 0))},
           .outputs = {made},
           .kind = tfl::BuiltinOptions::GatherOptions,
           .options = options_of(tfl::CreateGatherOptions, 0, 0)});
  net.at = made;
  expect_untouched(net.file(), "signed-bytes");
}

std::string wide_network(DType type) {
  TfliteRepairNetwork net(type, 0.001f, 0);
  const int weights =
      net.constant(numbers<std::int8_t>(Shape{4, 1, 1, 4}, -127, 127), {0.01f, 0.02f, 0.03f, 0.04f}, {0, 0, 0, 0});
  const Shape channels{4};
  const int bias = net.constant(type == DType::s16 ? numbers<std::int64_t>(channels, -900, 900)
                                                   : numbers<std::int32_t>(channels, -900, 900));
  return net.product(kConv, weights, bias, type).file();
}

TEST(TfliteRepair, SixteenBitsComputeInFloats) {
  const auto result = tflite_repair_repaired(wide_network(DType::s16), "sixteen-bits-in-floats");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_GE(result.done[0].noise_after_db, 60.0);
  const std::vector<int> codes = codes_of(result.model);
  EXPECT_EQ(codes, (std::vector<int>{kDequantize, kDequantize, kConv, kMinimum, kMaximum, kQuantize}));
  expect_untouched(wide_network(DType::s8), "sixteen-bits-in-floats");
}

std::string dynamic_network(int code, bool puts_data_behind = false) {
  TfliteRepairNetwork net(DType::f32, 0.0f, 0);
  net.puts_data_behind = puts_data_behind;
  const bool is_depthwise = code == kDepthwiseConv;
  const int weights =
      net.constant(numbers<std::int8_t>(is_depthwise ? Shape{1, 3, 3, 4} : Shape{4, 1, 1, 4}, -127, 127),
                   {0.01f, 0.02f, 0.03f, 0.04f}, {0, 0, 0, 0}, is_depthwise ? 3 : 0);
  return net.product(code, weights, net.constant(numbers<float>(Shape{4}, -2, 2)), DType::f32).file();
}

TEST(TfliteRepair, DynamicDepthwiseGetsFloatWeights) {
  const auto result = tflite_repair_repaired(dynamic_network(kDepthwiseConv), "dynamic-depthwise-in-floats");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(codes_of(result.model), (std::vector<int>{kDequantize, kDepthwiseConv}));
  EXPECT_GE(result.done[0].noise_after_db, result.done[0].noise_before_db);
  expect_untouched(dynamic_network(kConv), "dynamic-depthwise-in-floats");
}

TEST(TfliteRepair, ConversionsOfConversionsAreOne) {
  TfliteRepairNetwork equal(DType::s8, 0.1f, 3);
  const std::string twice = equal.op(kLogistic, DType::s8, 1.0f / 256.0f, -128)
                                .op(kDequantize, DType::f32)
                                .op(kQuantize, DType::s8, 1.0f / 256.0f, -128)
                                .pool(DType::s8, 1.0f / 256.0f, -128)
                                .file();
  const auto result = tflite_repair_repaired(twice, "double-conversions");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_TRUE(result.done[0].is_equal);
  EXPECT_EQ(codes_of(result.model), (std::vector<int>{kLogistic, kMaxPool}));
  TfliteRepairNetwork other(DType::s8, 0.1f, 3);
  const auto rescaled = tflite_repair_repaired(other.op(kDequantize, DType::f32).op(kQuantize, DType::s8, 0.15f).file(),
                                               "double-conversions");
  EXPECT_EQ(codes_of(rescaled.model), (std::vector<int>{kQuantize}));
  TfliteRepairNetwork single(DType::f32, 0.0f, 0);
  expect_untouched(single.op(kQuantize, DType::s8).op(kDequantize, DType::f32).file(), "double-conversions");
}

TEST(TfliteRepair, IslandsComputeOnBytes) {
  TfliteRepairNetwork pool(DType::s8, 0.1f, 3);
  const auto moved = tflite_repair_repaired(pool.op(kDequantize, DType::f32)
                                                .pool(DType::f32)
                                                .op(kQuantize, DType::s8, 0.1f, 3)
                                                .pool(DType::s8, 0.1f, 3)
                                                .file(),
                                            "islands-in-bytes");
  ASSERT_EQ(moved.done.size(), 1u);
  EXPECT_TRUE(moved.done[0].is_equal);
  EXPECT_EQ(codes_of(moved.model), (std::vector<int>{kMaxPool, kMaxPool}));
  TfliteRepairNetwork conv(DType::s8, 0.1f, 3);
  conv.op(kDequantize, DType::f32);
  const int weights = conv.constant(numbers<float>(Shape{4, 1, 1, 4}, -9, 9));
  conv.product(kConv, weights, conv.constant(numbers<float>(Shape{4}, -2, 2)), DType::f32);
  const auto product = tflite_repair_repaired(conv.op(kQuantize, DType::s8, 1.0f).file(), "islands-in-bytes");
  ASSERT_EQ(product.done.size(), 1u);
  // The output stays a tensor that QUANTIZE makes.
  EXPECT_EQ(codes_of(product.model), (std::vector<int>{kConv, kQuantize}));
}

TEST(TfliteRepair, FloatsThatSomebodyReadsStay) {
  TfliteRepairNetwork net(DType::s8, 0.1f, 3);
  net.op(kDequantize, DType::f32).pool(DType::f32);
  const int read = net.at;
  net.op(kQuantize, DType::s8, 0.1f, 3);
  net.outputs = {net.at, read};
  expect_untouched(net.bytes(), "islands-in-bytes");
}

std::string swish_network(std::int32_t size) {
  TfliteBuilder net;
  const int x = net.input({"x", DType::s8, {1, size, size, 8}, {0.05f}, {0}});
  const int y = net.output({"y", DType::s8, {1, size, size, 8}, {0.05f}, {-100}});
  net.add({.code = kHardSwish, .inputs = {x}, .outputs = {y}});
  return net.bytes();
}

TEST(TfliteRepair, SlowBytesComputeInFloatsWhereTheyAreMany) {
  const auto result = tflite_repair_repaired(swish_network(32), "slow-bytes-in-floats");
  ASSERT_EQ(result.done.size(), 1u);
  EXPECT_EQ(codes_of(result.model), (std::vector<int>{kDequantize, kHardSwish, kQuantize}));
  expect_untouched(swish_network(4), "slow-bytes-in-floats");
}

TEST(TfliteRepair, WhatIsNotTouchedStays) {
  TfliteBuilder net;
  const int x = net.input({"x", DType::s8, {1, 32, 32, 8}, {0.05f}, {0}, 0, {}, {-1, 32, 32, 8}});
  const int between = net.tensor({"between", DType::s8, {1, 32, 32, 8}, {0.05f}, {-100}});
  const int y = net.output({"y", DType::s8, {1, 32, 32, 8}, {0.05f}, {-100}});
  net.add({.code = kHardSwish, .inputs = {x}, .outputs = {between}, .version = 1});
  net.add({.code = kLeakyRelu,
           .inputs = {between},
           .outputs = {y},
           .kind = tfl::BuiltinOptions::LeakyReluOptions,
           .options = options_of(tfl::CreateLeakyReluOptions, 0.25f),
           .version = 2});
  net.signatures = {"main"};
  const std::string before = net.bytes();
  const auto result = tflite_repair_repaired(before, "slow-bytes-in-floats");
  ASSERT_FALSE(result.model.empty());
  // New tables first, behind them the old file as it was.
  EXPECT_EQ(result.model.substr(result.model.size() - before.size()), before);
  const auto& model = *tfl::GetModel(result.model.data());
  EXPECT_EQ(model.signature_defs()->Get(0)->signature_key()->str(), "main");
  const auto& graph = *model.subgraphs()->Get(0);
  EXPECT_EQ(graph.operators()->size(), 4u);
  EXPECT_EQ(graph.operators()->Get(3)->builtin_options_as_LeakyReluOptions()->alpha(), 0.25f);
  EXPECT_EQ(graph.tensors()->Get(0)->shape_signature()->Get(0), -1);
  // What is new has the open sizes of what it stands for.
  const auto* floats = graph.tensors()->Get(static_cast<unsigned>(graph.operators()->Get(0)->outputs()->Get(0)));
  EXPECT_EQ(floats->shape_signature()->Get(0), -1);
}

// Files of newer quantizers have their constants behind the tables.
TEST(TfliteRepair, DataBehindTheTablesIsFoundAgain) {
  const std::string inside = dynamic_network(kDepthwiseConv, false), behind = dynamic_network(kDepthwiseConv, true);
  ASSERT_NE(inside, behind);
  const auto expected = tflite_repair_repaired(inside, "dynamic-depthwise-in-floats");
  const auto result = tflite_repair_repaired(behind, "dynamic-depthwise-in-floats");
  ASSERT_EQ(result.done.size(), 1u);
  // By answers: what was read was what the other file has.
  EXPECT_EQ(result.done[0].noise_after_db, expected.done[0].noise_after_db);
  const auto edit = TfliteEdit::of(result.model, "test.tflite");
  EXPECT_EQ(*edit->tensor(edit->ops[0].inputs[0]).constant, numbers<std::int8_t>(Shape{1, 3, 3, 4}, -127, 127));
}

TEST(TfliteRepair, WhatIsNoFileIsAnErrorAndUnknownNamesAreUsage) {
  const auto broken = repair_tflite("no file at all", "broken.tflite", {});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.errors()[0].kind, ErrorKind::invalid_input);
  const auto unknown = repair_tflite(swish_network(32), "test.tflite", std::vector<std::string>{"batch-norms"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.errors()[0].kind, ErrorKind::usage);
}

}  // namespace
}  // namespace octavo::repair
