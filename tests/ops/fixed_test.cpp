// Fixed-point operators: hand-computed values and what they refuse.
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/ops_test.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_pool/quantized_pool.h"

namespace octavo {
namespace {

using ops_test::fact;
using ops_test::refuses;
using ops_test::run;
using ops_test::values;
using Bytes = std::vector<std::uint8_t>;

Tensor ints(std::vector<std::int32_t> list) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(list.size())}, list);
}

QuantizedElementwiseAttrs requantize(Stage scale, Round round = {}) { return {{{scale, round}, DType::u8}}; }

TEST(FixedSums, RoundAsTheProfileSays) {
  // 1/4 each: 2.5 and 3.5, -2.5.
  const Tensor x = ints({10, 14, -10, 100000}), quarter = ints({1 << 30}), shift = ints({-1});
  const Round round{.after = 10, .highest = 200};
  const auto of = [&](Profile profile) { return requantize(FixedScale{profile}, round); };
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedElementwise, of(Profile::tflite_double), {x, quarter, shift})),
            (Bytes{13, 14, 7, 200}));
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedElementwise, of(Profile::tflite_single), {x, quarter, shift})),
            (Bytes{13, 14, 8, 200}));
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedElementwise, requantize(DoubleScale{}, round),
                                     {x, Tensor::of<double>({1}, std::vector<double>{0.25})})),
            (Bytes{13, 14, 7, 200}));
}

TEST(FixedSums, RefuseWhatDoesNotFit) {
  const Fact x = fact(DType::s32, {2, 4}), four = fact(DType::s32, {4}), three = fact(DType::s32, {3}),
             real = fact(DType::f64, {4});
  const auto is_refused = [](const QuantizedElementwiseAttrs& attrs, const std::vector<Fact>& inputs) {
    return refuses(kQuantizedElementwise, attrs, inputs);
  };
  const QuantizedElementwiseAttrs fixed = requantize(FixedScale{});
  EXPECT_FALSE(is_refused(fixed, {x, four, four}));
  EXPECT_FALSE(is_refused(requantize(DoubleScale{}), {x, real}));
  EXPECT_TRUE(is_refused(fixed, {x, four}));
  EXPECT_TRUE(is_refused(requantize(DoubleScale{}), {x, four}));
  EXPECT_TRUE(is_refused(requantize(DoubleScale{}), {x, real, four}));
  EXPECT_TRUE(is_refused(fixed, {x, three, three}));
  EXPECT_TRUE(is_refused(fixed, {x, four, three}));
  EXPECT_TRUE(is_refused(requantize(FixedScale{Profile::onnx}), {x, four, four}));
  EXPECT_TRUE(is_refused(requantize(FixedScale{}, {.highest = 256}), {x, four, four}));
  EXPECT_TRUE(is_refused(fixed, {fact(DType::u8, {2, 4}), four, four}));
  EXPECT_TRUE(is_refused(fixed, {fact(DType::f32, {2, 4}), four, four}));
}

TEST(FixedBinary, AddsMultipliesAndScalesWhatIsBelowZero) {
  const Tensor a = Tensor::of<std::uint8_t>({3}, Bytes{10, 13, 7}), b = Tensor::of<std::uint8_t>({3}, Bytes{4, 4, 6});
  const auto of = [&](FixedBinaryKind kind) {
    const FixedBinary fixed{FixedBinaryForm::of(kind, 1.0f, 0.5f, 1.0f), Profile::tflite_double, 10, 2};
    return values<std::uint8_t>(run(kQuantizedElementwise, requantize(fixed, {.after = 100}), {a, b}));
  };
  EXPECT_EQ(of(FixedBinaryKind::add), (Bytes{101, 104, 99}));
  EXPECT_EQ(of(FixedBinaryKind::sub), (Bytes{99, 102, 95}));
  EXPECT_EQ(of(FixedBinaryKind::mul), (Bytes{100, 103, 94}));
  EXPECT_EQ(of(FixedBinaryKind::prelu), (Bytes{100, 103, 94}));
}

TEST(FixedBinary, RefusesWhatDoesNotFit) {
  const Fact a = fact(DType::u8, {2, 4}), b = fact(DType::s8, {4});
  const QuantizedElementwiseAttrs attrs = requantize(FixedBinary{});
  EXPECT_FALSE(refuses(kQuantizedElementwise, attrs, {a, b}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, requantize(FixedBinary{.value_zero_point = 256}), {a, b}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, attrs, {a, fact(DType::s8, {3})}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, attrs, {a, fact(DType::f32, {4})}));
  EXPECT_TRUE(refuses(kQuantizedElementwise, attrs, {fact(DType::s32, {2, 4}), b}));
}

TEST(FixedSums, OfAPoolAreExact) {
  const Tensor x = Tensor::of<std::uint8_t>({2, 2, 1, 2}, Bytes{1, 2, 3, 4, 255, 255, 0, 0});
  QuantizedPoolAttrs attrs{.window = unit_window({2, 1}), .x_zero_point = 1, .epilogue = {.to = DType::s32}};
  EXPECT_EQ(values<std::int32_t>(run(kQuantizedPool, attrs, {x})), (std::vector<std::int32_t>{2, 4, 253, 253}));
  // Half of it, as the profile rounds.
  attrs.epilogue = {{FixedScale{}, Round{}}, DType::u8};
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedPool, attrs, {x, ints({1 << 30}), ints({0})})), (Bytes{1, 2, 127, 127}));
  EXPECT_TRUE(refuses(kQuantizedPool, attrs, {fact(DType::u8, {2, 2, 1, 2})}));
}

TEST(FixedL2Norm, LinesHaveLengthOne) {
  const Tensor x = Tensor::of<std::int8_t>({2, 2}, std::vector<std::int8_t>{3, 4, 0, -5});
  const FixedL2NormAttrs attrs{.epilogue = {{Round{.lowest = -128, .highest = 127}}, DType::s8}};
  // 0.6 and 0.8 in 128ths: 76.8 and 102.4.
  EXPECT_EQ(values<std::int8_t>(run(kFixedL2Norm, attrs, {x})), (std::vector<std::int8_t>{77, 102, 0, -128}));
  EXPECT_TRUE(refuses(kFixedL2Norm, attrs, {fact(DType::f32, {2, 2})}));
  EXPECT_TRUE(refuses(kFixedL2Norm, FixedL2NormAttrs{.profile = Profile::tflite_xnnpack}, {fact(DType::u8, {2, 2})}));
}

TEST(IntegerResize, RoundsAsTheFormSays) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 2, 1}, std::vector<std::int8_t>{-1, -2});
  const Tensor row = Tensor::of<std::int32_t>({1, 2}, std::vector<std::int32_t>{0, 0});
  const Tensor columns = Tensor::of<std::int32_t>({1, 2}, std::vector<std::int32_t>{0, 1});
  const auto middle = [&](ResizeRounding rounding, float half) {
    const Tensor none = Tensor::of<float>({1}, std::vector<float>{0.0f}),
                 weight = Tensor::of<float>({1}, std::vector<float>{half});
    return values<std::int8_t>(run(kIntegerResize, IntegerResizeAttrs{rounding}, {x, row, none, columns, weight}))[0];
  };
  // -1.5: away from 0, up, and cut off after adding 0.5.
  EXPECT_EQ(middle(ResizeRounding::ten_bits, 512.0f), -2);
  EXPECT_EQ(middle(ResizeRounding::eleven_bits, 1024.0f), -1);
  EXPECT_EQ(middle(ResizeRounding::real, 0.5f), -1);
  const Fact image = fact(DType::u8, {1, 2, 2, 1}), taps = fact(DType::s32, {3, 2}), weights = fact(DType::f32, {3});
  EXPECT_FALSE(refuses(kIntegerResize, IntegerResizeAttrs{}, {image, taps, weights, taps, weights}));
  EXPECT_TRUE(
      refuses(kIntegerResize, IntegerResizeAttrs{}, {fact(DType::u8, {1, 0, 2, 1}), taps, weights, taps, weights}));
  EXPECT_TRUE(refuses(kIntegerResize, IntegerResizeAttrs{}, {image, taps, fact(DType::f32, {2}), taps, weights}));
  EXPECT_TRUE(refuses(kIntegerResize, IntegerResizeAttrs{}, {image, fact(DType::s32, {3, 3}), weights, taps, weights}));
  EXPECT_TRUE(refuses(kIntegerResize, IntegerResizeAttrs{.shift = 129}, {image, taps, weights, taps, weights}));
}

TEST(Quantize, FixedPointProfilesRoundAwayFromZero) {
  const Tensor x = Tensor::of<float>({4}, std::vector<float>{0.5f, 1.5f, -0.5f, -2.5f}), one = Tensor::scalar(1.0f);
  const Tensor zero = Tensor::scalar(std::int8_t{0});
  const auto q = [&](Profile profile) {
    return values<std::int8_t>(run(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = profile}, {x, one, zero}));
  };
  EXPECT_EQ(q(Profile::tflite_double), (std::vector<std::int8_t>{1, 2, -1, -3}));
  EXPECT_EQ(q(Profile::onnx), (std::vector<std::int8_t>{0, 2, 0, -2}));
}

}  // namespace
}  // namespace octavo
