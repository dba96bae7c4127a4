// Quantized TFLite operators: every kind of scales, as imported and after lowering. Part of the tests of import/.
#include <gtest/gtest.h>

#include "lower/lower.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"
#include "support/tflite_builder.h"

namespace octavo::testing {
namespace {

using Bytes = std::vector<int>;

template <class T>
Tensor tensor_of(Shape shape, const std::vector<T>& values) {
  return Tensor::of<T>(std::move(shape), values);
}

Bytes as_ints(const Tensor& tensor) {
  Bytes values;
  for (const std::int64_t value : to_int64s(tensor.view())) values.push_back(static_cast<int>(value));
  return values;
}

struct Answer {
  Bytes values;
  std::map<std::string, int> operators;
};

// After lowering.
Answer tflite_quantized_lowered(const TfliteBuilder& builder, const std::vector<Tensor>& inputs) {
  auto model = builder.import();
  if (!model) {
    ADD_FAILURE() << to_string(model.errors());
    return {};
  }
  EXPECT_TRUE(model->is_quantized);
  const auto report = lower(model->graph, {.precision = Precision::int8});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : to_string(report.errors()));
  const auto results = evaluate(model->graph, inputs);
  if (!results) {
    ADD_FAILURE() << to_string(results.errors());
    return {};
  }
  Answer answer{as_ints(results->front()), {}};
  for (const NodeId id : model->graph.order()) ++answer.operators[std::string(model->graph.node(id).spec->name)];
  return answer;
}

TfliteOptions conv_options(std::int8_t activation = 0) {
  return options_of(tfl::CreateConv2DOptions, std::int8_t{1}, 1, 1, activation, 1, 1);
}

TEST(TfliteQuantized, ConvPerChannel) {
  TfliteBuilder builder;
  const int x =
      builder.input({.name = "x", .dtype = DType::s8, .shape = {1, 1, 1, 2}, .scale = {0.5f}, .zero_point = {-10}});
  const int w = builder.constant(tensor_of<std::int8_t>({2, 1, 1, 2}, {1, 2, -3, 4}), {0.25f, 0.5f}, {0, 0}, 0);
  // The bias's own scale means nothing.
  const int bias = builder.constant(tensor_of<std::int32_t>({2}, {8, -8}), {123.0f}, {0});
  const int y = builder.output({.name = "y", .dtype = DType::s8, .scale = {1.0f}, .zero_point = {3}});
  builder.add({.code = 3,
               .inputs = {x, w, bias},
               .outputs = {y},
               .kind = tfl::BuiltinOptions::Conv2DOptions,
               .options = conv_options()});
  // x = (20, 40) + 10: acc 30 + 100 + 8 = 138 times 1/8, acc -90 + 200 - 8 = 102 times 1/4: 17.25 and 25.5, to even 26.
  const Answer answer = tflite_quantized_lowered(builder, {tensor_of<std::int8_t>({1, 1, 1, 2}, {20, 40})});
  EXPECT_EQ(answer.values, (Bytes{20, 29}));
  EXPECT_EQ(answer.operators.at("quantized_conv"), 1);
  EXPECT_EQ(answer.operators.count("dequantize"), 0u);
}

// Weights that the file itself quantizes are folded, by LiteRT's reference kernel: halves away from 0.
TEST(TfliteQuantized, ConvOfWeightsThatTheFileQuantizesPerChannel) {
  TfliteBuilder builder;
  const int x =
      builder.input({.name = "x", .dtype = DType::s8, .shape = {1, 1, 1, 2}, .scale = {0.5f}, .zero_point = {-10}});
  const int floats_of_w = builder.constant(floats({2, 1, 1, 2}, {0.125f, 0.5f, -1.25f, 2}));
  const int w = builder.tensor(
      {.name = "w", .dtype = DType::s8, .shape = {2, 1, 1, 2}, .scale = {0.25f, 0.5f}, .zero_point = {0, 0}});
  builder.add({.code = 114, .inputs = {floats_of_w}, .outputs = {w}});
  const int bias = builder.constant(tensor_of<std::int32_t>({2}, {8, -8}));
  const int y = builder.output({.name = "y", .dtype = DType::s8, .scale = {1.0f}, .zero_point = {3}});
  builder.add({.code = 3,
               .inputs = {x, w, bias},
               .outputs = {y},
               .kind = tfl::BuiltinOptions::Conv2DOptions,
               .options = conv_options()});
  // w = (1, 2), (-3, 4): the answers of ConvPerChannel.
  const Answer answer = tflite_quantized_lowered(builder, {tensor_of<std::int8_t>({1, 1, 1, 2}, {20, 40})});
  EXPECT_EQ(answer.values, (Bytes{20, 29}));
  EXPECT_EQ(answer.operators.at("quantized_conv"), 1);
  EXPECT_EQ(answer.operators.count("quantize"), 0u);
}

TEST(TfliteQuantized, ScalesPerAxisOfAnActivation) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {2, 2}});
  const int y = builder.output(
      {.name = "y", .dtype = DType::u8, .shape = {2, 2}, .scale = {0.25f, 0.5f}, .zero_point = {128, 3}});
  builder.add({.code = 114, .inputs = {x}, .outputs = {y}});
  const Answer answer = tflite_quantized_lowered(builder, {floats({2, 2}, {0.125f, -0.125f, 1.25f, 9})});
  EXPECT_EQ(answer.values, (Bytes{129, 127, 6, 21}));
}

// QUANTIZE between integers of 8, 16 and 32 bits: sat(fixed(x - x_z, x_s / y_s) + y_z), which rounds twice.
TEST(TfliteQuantized, ConversionsBetweenIntegers) {
  const auto converted = [](TfliteTensor from, TfliteTensor to, const Tensor& x) {
    TfliteBuilder builder;
    from.name = "x", to.name = "y", from.shape = {static_cast<std::int32_t>(x.elements())};
    const int in = builder.input(from);
    builder.add({.code = 114, .inputs = {in}, .outputs = {builder.output(to)}});
    auto model = builder.import();
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : to_string(model.errors()));
    if (!model) return Bytes{};
    EXPECT_TRUE(lower(model->graph, {.precision = Precision::int8}).ok());
    return as_ints((*evaluate(model->graph, std::vector<Tensor>{x}))[0]);
  };
  const TfliteTensor bytes{.dtype = DType::s8, .scale = {0.5f}, .zero_point = {3}};
  const TfliteTensor halves{.dtype = DType::s16, .scale = {0.25f}, .zero_point = {0}};
  const TfliteTensor words{.dtype = DType::s32, .scale = {0.125f}, .zero_point = {-4}};
  const Tensor of_words = tensor_of<std::int32_t>({5}, {0, -2, -3, 100000, -100000});
  EXPECT_EQ(converted(words, bytes, of_words), (Bytes{4, 4, 4, 127, -128}));
  EXPECT_EQ(converted(words, halves, of_words), (Bytes{2, 1, 1, 32767, -32768}));
  const Tensor of_halves = tensor_of<std::int16_t>({5}, {0, 1, -1, 1000, -1000});
  EXPECT_EQ(converted(halves, words, of_halves), (Bytes{-4, -2, -6, 1996, -2004}));
  EXPECT_EQ(converted(halves, bytes, of_halves), (Bytes{3, 4, 3, 127, -128}));
}

TEST(TfliteQuantized, ConvOfUnsignedWeightsWithAZeroPoint) {
  TfliteBuilder builder;
  const int x =
      builder.input({.name = "x", .dtype = DType::u8, .shape = {1, 1, 1, 2}, .scale = {0.5f}, .zero_point = {128}});
  const int w = builder.constant(tensor_of<std::uint8_t>({1, 1, 1, 2}, {255, 0}), {0.5f}, {120});
  const int y = builder.output({.name = "y", .dtype = DType::u8, .scale = {4.0f}, .zero_point = {100}});
  builder.add({.code = 3,
               .inputs = {x, w},
               .outputs = {y},
               .kind = tfl::BuiltinOptions::Conv2DOptions,
               .options = conv_options(1)});
  // 10 * 135 + 20 * -120 = -1050 / 16 = -65.6, below 0; -20 * 135 + -30 * -120 = 900 / 16 = 56.25.
  EXPECT_EQ(tflite_quantized_lowered(builder, {tensor_of<std::uint8_t>({1, 1, 1, 2}, {138, 148})}).values, Bytes{100});
  EXPECT_EQ(tflite_quantized_lowered(builder, {tensor_of<std::uint8_t>({1, 1, 1, 2}, {108, 98})}).values, Bytes{156});
}

TEST(TfliteQuantized, FullyConnectedBecomesAConvolution) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .dtype = DType::s8, .shape = {1, 2}, .scale = {1.0f}, .zero_point = {0}});
  const int w = builder.constant(tensor_of<std::int8_t>({3, 2}, {1, 0, 0, 1, 1, 1}), {1.0f}, {0});
  const int bias = builder.constant(tensor_of<std::int32_t>({3}, {10, 20, 30}), {1.0f}, {0});
  const int y = builder.output({.name = "y", .dtype = DType::s8, .scale = {2.0f}, .zero_point = {0}});
  builder.add(fully_connected({x, w, bias}, y));
  const Answer answer = tflite_quantized_lowered(builder, {tensor_of<std::int8_t>({1, 2}, {4, 6})});
  EXPECT_EQ(answer.values, (Bytes{7, 13, 20}));
  EXPECT_EQ(answer.operators.at("quantized_conv"), 1);
}

TfliteBuilder binary(int code, std::int64_t zero_point) {
  TfliteBuilder builder;
  const int a = builder.input({.name = "a", .dtype = DType::s8, .shape = {4}, .scale = {0.5f}, .zero_point = {0}});
  const int b = builder.input({.name = "b", .dtype = DType::s8, .shape = {4}, .scale = {1.0f}, .zero_point = {2}});
  const int y = builder.output({.name = "y", .dtype = DType::s8, .scale = {1.0f}, .zero_point = {zero_point}});
  return builder.add({.code = code, .inputs = {a, b}, .outputs = {y}});
}

// Halves go up, whatever the zero point; ONNX's addition would round them to even with the zero point in them.
TEST(TfliteQuantized, AdditionAndSubtractionRoundHalvesUp) {
  const std::vector<Tensor> inputs = {tensor_of<std::int8_t>({4}, {1, 3, -1, -3}),
                                      tensor_of<std::int8_t>({4}, {2, 2, 2, 127})};
  EXPECT_EQ(tflite_quantized_lowered(binary(0, 0), inputs).values, (Bytes{1, 2, 0, 124}));
  EXPECT_EQ(tflite_quantized_lowered(binary(0, 1), inputs).values, (Bytes{2, 3, 1, 125}));
  EXPECT_EQ(tflite_quantized_lowered(binary(41, 1), inputs).values, (Bytes{2, 3, 1, -125}));
  EXPECT_EQ(tflite_quantized_lowered(binary(0, 0), inputs).operators.count("quantized_elementwise"), 1u);
  EXPECT_EQ(tflite_quantized_lowered(binary(41, 0), inputs).operators.count("quantized_elementwise"), 1u);
}

// The zero point comes after the rounding: 0.5 to 0, 1.5 to 2.
TEST(TfliteQuantized, ProductsRoundBeforeTheZeroPoint) {
  const std::vector<Tensor> inputs = {tensor_of<std::int8_t>({4}, {1, 3, 1, -3}),
                                      tensor_of<std::int8_t>({4}, {3, 3, 127, 3})};
  EXPECT_EQ(tflite_quantized_lowered(binary(18, 1), inputs).values, (Bytes{1, 3, 63, -1}));
}

TEST(TfliteQuantized, AveragePoolRoundsStoredValuesAwayFromZero) {
  const auto pool = [](DType dtype, std::int64_t zero_point) {
    TfliteBuilder builder;
    const int x = builder.input(
        {.name = "x", .dtype = dtype, .shape = {1, 1, 2, 2}, .scale = {0.5f}, .zero_point = {zero_point}});
    const int y = builder.output({.name = "y", .dtype = dtype, .scale = {0.5f}, .zero_point = {zero_point}});
    return builder.add({.code = 1,
                        .inputs = {x},
                        .outputs = {y},
                        .kind = tfl::BuiltinOptions::Pool2DOptions,
                        .options = options_of(tfl::CreatePool2DOptions, std::int8_t{1}, 1, 1, 2, 1, std::int8_t{0})});
  };
  const Answer s8 =
      tflite_quantized_lowered(pool(DType::s8, 7), {tensor_of<std::int8_t>({1, 1, 2, 2}, {-1, 1, -2, 2})});
  EXPECT_EQ(s8.values, (Bytes{-2, 2}));
  EXPECT_EQ(s8.operators.count("quantized_pool"), 1u);
  EXPECT_EQ(
      tflite_quantized_lowered(pool(DType::u8, 7), {tensor_of<std::uint8_t>({1, 1, 2, 2}, {1, 254, 2, 255})}).values,
      (Bytes{2, 255}));
}

TEST(TfliteQuantized, SoftmaxIsATableOfExponentials) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .dtype = DType::s8, .shape = {1, 2}, .scale = {1.0f}, .zero_point = {0}});
  const int y = builder.output({.name = "y", .dtype = DType::s8, .scale = {1.0f / 256}, .zero_point = {-128}});
  builder.add({.code = 25,
               .inputs = {x},
               .outputs = {y},
               .kind = tfl::BuiltinOptions::SoftmaxOptions,
               .options = options_of(tfl::CreateSoftmaxOptions, 1.0f)});
  // e / (1 + e) * 256 = 187.15.
  const Answer answer = tflite_quantized_lowered(builder, {tensor_of<std::int8_t>({1, 2}, {4, 5})});
  EXPECT_EQ(answer.values, (Bytes{69 - 128, 187 - 128}));
  EXPECT_EQ(answer.operators.at("quantized_softmax"), 1);
}

TEST(TfliteQuantized, QuantizeMultipliesByTheInverse) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {2}});
  const int y = builder.output({.name = "y", .dtype = DType::u8, .scale = {0.07f}, .zero_point = {3}});
  builder.add({.code = 114, .inputs = {x}, .outputs = {y}});
  // 8.015 / 0.07 rounds to 115 in f32, 8.015 * (1 / 0.07) to 114.
  EXPECT_EQ(tflite_quantized_lowered(builder, {floats({2}, {8.015f, -9.0f})}).values, (Bytes{117, 0}));
}

TEST(TfliteQuantized, RescalingHasEightBitsBehindThePoint) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .dtype = DType::s8, .shape = {4}, .scale = {0.301f}, .zero_point = {0}});
  const int y = builder.output({.name = "y", .dtype = DType::s8, .scale = {1.0f}, .zero_point = {1}});
  builder.add({.code = 114, .inputs = {x}, .outputs = {y}});
  // 77 / 256 instead of 0.301: 108 * 0.301 = 32.508 rounds to 33, (108 * 77 + 128) >> 8 is 32.
  const Answer answer = tflite_quantized_lowered(builder, {tensor_of<std::int8_t>({4}, {2, 108, -2, 127})});
  EXPECT_EQ(answer.values, (Bytes{2, 33, 0, 39}));
  EXPECT_EQ(answer.operators.count("table"), 1u);
}

TEST(TfliteQuantized, WeightsOfHalfPrecisionAreFolded) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1, 2}});
  Tensor half(DType::f16, Shape{1, 2});
  half.as<std::uint16_t>()[0] = f32_to_f16(0.5f);
  half.as<std::uint16_t>()[1] = f32_to_f16(-2.0f);
  const int w16 = builder.constant(half);
  const int w = builder.tensor({.name = "w", .shape = {1, 2}});
  const int y = builder.output({.name = "y", .shape = {1, 1}});
  builder.add({.code = 6, .inputs = {w16}, .outputs = {w}});
  builder.add(fully_connected({x, w}, y));
  const auto model = builder.import();
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  EXPECT_EQ(model->graph.node_count(), 1);
  EXPECT_EQ(as_floats(answers(builder, {floats({1, 2}, {4, 1})})[0]), std::vector<float>{0});
}

// 1, 2, -1, -8 and 7, the lower half of a byte first.
TEST(TfliteQuantized, ConstantsOf4BitsLieTwoToAByte) {
  const auto model_of = [](std::vector<std::uint8_t> bytes) {
    TfliteBuilder builder;
    const int x = builder.input({.name = "x", .shape = {5}}), real = builder.tensor({.name = "real"});
    const Tensor data = Tensor::of<std::uint8_t>(Shape{std::ssize(bytes)}, bytes);
    const int w = builder.tensor(
        {.name = "w", .dtype = DType::s8, .shape = {5}, .scale = {0.5f}, .zero_point = {0}, .data = data, .type = 17});
    builder.add({.code = 6, .inputs = {w}, .outputs = {real}});
    return builder.add({.code = 0, .inputs = {x, real}, .outputs = {builder.output({.name = "y"})}});
  };
  EXPECT_EQ(as_floats(answers(model_of({0x21, 0x8f, 0xf7}), {floats({5}, {10, 20, 30, 40, 50})})[0]),
            (std::vector<float>{10.5f, 21, 29.5f, 36, 53.5f}));
  EXPECT_NE(to_string(model_of({0x21, 0x8f}).import().errors()).find("data: found 2 bytes, expected 3"),
            std::string::npos);
  TfliteBuilder without;
  const int x = without.input({.name = "x", .shape = {5}, .type = 17});
  without.add({.code = 19, .inputs = {x}, .outputs = {without.output({.name = "y"})}});
  EXPECT_NE(to_string(without.import().errors()).find("found elements of type INT4 without dense data"),
            std::string::npos);
}

TEST(TfliteQuantized, FilesOfFp32AreNotQuantized) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {2}});
  builder.add({.code = 19, .inputs = {x}, .outputs = {builder.output({.name = "y"})}});
  const auto model = builder.import();
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model->is_quantized);
  EXPECT_EQ(model->dialect, "TFLite fp32");
}

}  // namespace
}  // namespace octavo::testing
