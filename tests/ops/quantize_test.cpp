// quantize, dequantize, dynamic_quantize, table, quantized_elementwise and quantized_softmax.
#include "ops/quantize/quantize.h"

#include "ops/dequantize/dequantize.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/table/table.h"
#include "ops_test.h"
#include "ort_vectors.h"

namespace octavo::ops_test {
namespace {

constexpr float kQuantizeInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Quantize, RoundsToEvenThenAddsTheZeroPointAndSaturates) {
  const Tensor x =
      Tensor::of<float>({8}, std::vector<float>{0.5f, 1.5f, -0.5f, 2.5f, 1e30f, -1e30f, kQuantizeInfinity, kNan});
  const Tensor y = run(kQuantize, QuantizeAttrs{}, {x, Tensor::scalar(1.0f), Tensor::scalar<std::uint8_t>(3)});
  EXPECT_EQ(values<std::uint8_t>(y), (std::vector<std::uint8_t>{3, 5, 3, 5, 255, 0, 255, 0}));
}

TEST(Quantize, SixteenBitsAndNarrowRanges) {
  const Tensor x = Tensor::of<float>({3}, std::vector<float>{-1e9f, 0.3f, 1e9f});
  EXPECT_EQ(values<std::int16_t>(run(kQuantize, QuantizeAttrs{.to = DType::s16}, {x, Tensor::scalar(0.1f)})),
            (std::vector<std::int16_t>{-32768, 3, 32767}));
  EXPECT_EQ(values<std::uint16_t>(run(kQuantize, QuantizeAttrs{.to = DType::u16}, {x, Tensor::scalar(0.1f)})),
            (std::vector<std::uint16_t>{0, 3, 65535}));
  EXPECT_EQ(values<std::int8_t>(run(kQuantize, QuantizeAttrs{.to = DType::s8, .lowest = -127, .highest = 127},
                                    {x, Tensor::scalar(0.1f)})),
            (std::vector<std::int8_t>{-127, 3, 127}));
}

TEST(Quantize, PerAxisAndPerBlock) {
  const Tensor x = Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor axis =
      run(kQuantize, QuantizeAttrs{.axis = 0}, {x, Tensor::of<float>({2}, std::vector<float>{1.0f, 2.0f})});
  EXPECT_EQ(values<std::uint8_t>(axis), (std::vector<std::uint8_t>{1, 2, 3, 2, 2, 3}));
  const Tensor scales = Tensor::of<float>({2, 2}, std::vector<float>{1.0f, 0.5f, 2.0f, 0.25f});
  const Tensor block = run(kQuantize, QuantizeAttrs{.axis = 1, .block = 2}, {x, scales});
  EXPECT_EQ(values<std::uint8_t>(block), (std::vector<std::uint8_t>{1, 2, 6, 2, 2, 24}));
}

TEST(Quantize, ProfileDecidesBetweenDivisionAndReciprocal) {
  // A value for which x / scale and x * (1 / scale) round to different integers.
  const float scale = 0.3f;
  float x = 0.0f;
  for (int i = 1; i < 100000 && x == 0.0f; ++i) {
    const float candidate = static_cast<float>(i) * 0.15f;
    if (std::nearbyintf(candidate / scale) != std::nearbyintf(candidate * (1.0f / scale))) x = candidate;
  }
  ASSERT_NE(x, 0.0f);
  const auto quantized = [&](Profile profile) {
    const Tensor y =
        run(kQuantize, QuantizeAttrs{.to = DType::u16, .profile = profile}, {Tensor::scalar(x), Tensor::scalar(scale)});
    return y.as<std::uint16_t>()[0];
  };
  EXPECT_NE(quantized(Profile::onnx), quantized(Profile::pt2e));
}

TEST(Quantize, KnowsItsScale) {
  Fact scale = fact(DType::f32, {});
  scale.constant = std::make_shared<const Tensor>(Tensor::scalar(0.5f));
  const Fact x = fact(DType::f32, {2});
  const std::vector<const Fact*> facts{&x, &scale};
  const auto inferred = infer_checked(kQuantize, QuantizeAttrs{}, facts);
  ASSERT_TRUE(inferred.ok());
  EXPECT_EQ(inferred->front().quant, (QuantParams{.scale = {0.5f}, .zero_point = {0}}));
}

TEST(Quantize, RefusesWhatDoesNotFit) {
  const Fact x = fact(DType::f32, {2, 3});
  const Fact one = fact(DType::f32, {});
  EXPECT_FALSE(refuses(kQuantize, QuantizeAttrs{}, {x, one, fact(DType::u8, {})}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{}, {x, one, fact(DType::s8, {})}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{}, {x, fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.axis = 2}, {x, one}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.axis = 1}, {x, fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.axis = 1, .block = 2}, {x, fact(DType::f32, {2, 1})}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.block = 2}, {x, one}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.to = DType::f32}, {x, one}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.lowest = 5, .highest = 4}, {x, one}));
  EXPECT_TRUE(refuses(kQuantize, QuantizeAttrs{.lowest = -1, .highest = 4}, {x, one}));
}

TEST(Dequantize, IsOneProduct) {
  const Tensor x = Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{2147483647, -2147483648});
  const Tensor wide = run(kDequantize, DequantizeAttrs{}, {x, Tensor::scalar(1.0f), Tensor::scalar<std::int32_t>(-1)});
  EXPECT_EQ(values<float>(wide), (std::vector<float>{2147483648.0f, -2147483648.0f}));
  const Tensor s8 = Tensor::of<std::int8_t>({2, 1}, std::vector<std::int8_t>{-128, 127});
  const Tensor y = run(kDequantize, DequantizeAttrs{.axis = 0},
                       {s8, Tensor::of<float>({2}, std::vector<float>{0.1f, 0.3f}),
                        Tensor::of<std::int8_t>({2}, std::vector<std::int8_t>{1, -1})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{-129.0f * 0.1f, 128.0f * 0.3f}));
}

TEST(Dequantize, RefusesWhatDoesNotFit) {
  const Fact x = fact(DType::u8, {4});
  EXPECT_FALSE(refuses(kDequantize, DequantizeAttrs{}, {x, fact(DType::f32, {1}), fact(DType::u8, {})}));
  EXPECT_TRUE(refuses(kDequantize, DequantizeAttrs{}, {fact(DType::f32, {4}), fact(DType::f32, {})}));
  EXPECT_TRUE(refuses(kDequantize, DequantizeAttrs{}, {x, fact(DType::f64, {})}));
  EXPECT_TRUE(refuses(kDequantize, DequantizeAttrs{}, {x, fact(DType::f32, {}), fact(DType::s8, {})}));
  EXPECT_TRUE(refuses(kDequantize, DequantizeAttrs{.to = DType::s32}, {x, fact(DType::f32, {})}));
}

TEST(DynamicQuantize, RangeContainsZero) {
  const auto run_all = [](const std::vector<float>& x) {
    const Tensor tensor = Tensor::of<float>({static_cast<std::int64_t>(x.size())}, x);
    const std::vector<ConstTensorView> views{tensor.view()};
    return *evaluate_op(kDynamicQuantize, NoAttrs{}, views);
  };
  const auto positive = run_all({1.0f, 2.55f});
  EXPECT_EQ(positive[1].as<float>()[0], 2.55f / 255.0f);
  EXPECT_EQ(positive[2].as<std::uint8_t>()[0], 0);
  EXPECT_EQ(values<std::uint8_t>(positive[0]), (std::vector<std::uint8_t>{100, 255}));
  const auto negative = run_all({-1.0f, -0.4f});
  EXPECT_EQ(negative[2].as<std::uint8_t>()[0], 255);
  EXPECT_EQ(values<std::uint8_t>(negative[0]), (std::vector<std::uint8_t>{0, 153}));
  const auto nothing = run_all({0.0f, 0.0f});
  EXPECT_EQ(nothing[1].as<float>()[0], 1.0f);
  EXPECT_EQ(values<std::uint8_t>(nothing[0]), (std::vector<std::uint8_t>{0, 0}));
}

TEST(Table, ReadsBySignedOrUnsignedByte) {
  const Tensor table = iota<float>({256});
  const Tensor x = Tensor::of<std::int8_t>({3}, std::vector<std::int8_t>{-1, 0, 127});
  EXPECT_EQ(values<float>(run(kTable, NoAttrs{}, {x, table})), (std::vector<float>{255, 0, 127}));
  EXPECT_TRUE(refuses(kTable, NoAttrs{}, {fact(DType::s32, {3}), fact(DType::f32, {256})}));
  EXPECT_TRUE(refuses(kTable, NoAttrs{}, {fact(DType::u8, {3}), fact(DType::f32, {255})}));
  EXPECT_TRUE(refuses(kTable, NoAttrs{}, {fact(DType::u8, {3}), fact(DType::s32, {256})}));
}

QuantizedElementwiseAttrs addition(const AddForm& form, const Round& round = {}) {
  return {{{AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed}, round}, DType::u8}};
}

TEST(QuantizedElementwise, BroadcastsAndRoundsOnce) {
  const Tensor a = Tensor::of<std::uint8_t>({2, 1}, std::vector<std::uint8_t>{10, 20});
  const Tensor b = Tensor::of<std::int8_t>({2}, std::vector<std::int8_t>{-3, 5});
  const QuantizedElementwiseAttrs add = addition(AddForm::of(0.5f, 0, 0.5f, 0, 1.0f, 100));
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedElementwise, add, {a, b})),
            (std::vector<std::uint8_t>{104, 108, 108, 112}));
  const QuantizedElementwiseAttrs mul{{{Multiply{10, 5}, Affine{0.5f, 50.0f}, Round{}}, DType::u8}};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedElementwise, mul, {a, b})), (std::vector<std::uint8_t>{50, 50, 10, 50}));
}

TEST(QuantizedElementwise, RefusesWhatDoesNotFit) {
  const Fact a = fact(DType::u8, {2, 3});
  const QuantizedElementwiseAttrs add = addition({});
  EXPECT_FALSE(refuses(kQuantizedElementwise, add, {a, fact(DType::s8, {3})}));
  EXPECT_FALSE(refuses(kQuantizedElementwise, add, {fact(DType::s8, {3}), a}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, add, {a, fact(DType::s8, {2})}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, add, {a, fact(DType::f32, {3})}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, add, {fact(DType::s32, {2, 3}), a}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, addition({.a_ratio = kNan}), {a, a}));
  QuantizedElementwiseAttrs other = add;
  other.epilogue.to = DType::s8;
  EXPECT_TRUE(refuses(kQuantizedElementwise, other, {a, a}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, add, {a, a, fact(DType::u8, {256})}));
  other = add;
  other.epilogue.stages.emplace_back(Lookup{});
  EXPECT_FALSE(refuses(kQuantizedElementwise, other, {a, a, fact(DType::u8, {256})}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, other, {a, a, fact(DType::u8, {16, 16})}));
  // More elements than there may be.
  constexpr std::int64_t kMany = std::int64_t{1} << 32;
  EXPECT_TRUE(refuses(kQuantizedElementwise, add, {fact(DType::u8, {kMany, 1}), fact(DType::u8, {1, kMany})}));
}

TEST(QuantizedSoftmax, IsWhatOnnxRuntimeComputes) {
  const Tensor x = Tensor::of({4, 17}, ort_vectors::kSoftmaxX);
  const QuantizedSoftmaxAttrs attrs{.to = DType::s8, .y_scale = 1.0f / 256.0f, .zero_point = -128, .x_scale = 0.0213f};
  EXPECT_EQ(values<std::int8_t>(run(kQuantizedSoftmax, attrs, {x})), ort_vectors::kSoftmaxY);
}

TEST(QuantizedSoftmax, SaturatesAtOne) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 3}, std::vector<std::uint8_t>{255, 0, 0});
  QuantizedSoftmaxAttrs attrs{.y_scale = 1.0f / 256.0f, .x_scale = 0.5f};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedSoftmax, attrs, {x})), (std::vector<std::uint8_t>{255, 0, 0}));
  const Fact line = fact(DType::u8, {3});
  EXPECT_FALSE(refuses(kQuantizedSoftmax, attrs, {line}));
  EXPECT_TRUE(refuses(kQuantizedSoftmax, attrs, {fact(DType::u8, {})}));
  EXPECT_TRUE(refuses(kQuantizedSoftmax, attrs, {line, fact(DType::f32, {256})}));
  attrs.profile = Profile::tflite_double;
  EXPECT_FALSE(refuses(kQuantizedSoftmax, attrs, {line, fact(DType::s32, {256})}));
  EXPECT_TRUE(refuses(kQuantizedSoftmax, attrs, {line, fact(DType::f32, {256})}));
  EXPECT_TRUE(refuses(kQuantizedSoftmax, attrs, {line}));
  EXPECT_TRUE(refuses(kQuantizedSoftmax, QuantizedSoftmaxAttrs{.y_scale = 0.0f, .x_scale = 0.5f}, {line}));
  EXPECT_TRUE(refuses(kQuantizedSoftmax, QuantizedSoftmaxAttrs{.y_scale = 0.5f}, {line}));
}

}  // namespace
}  // namespace octavo::ops_test
