// Functions of one quantized value as TFLite's reference kernels compute them; the numbers are LiteRT 2.3's.
#include "lower/rules/fixed_table.h"

#include "lower/graph_builder.h"

namespace octavo {
namespace {

ValueId fixed_table_quantize(GraphBuilder& b, ValueId x, Profile profile, float scale, int zero) {
  return b.add(kQuantize, QuantizeAttrs{.profile = profile}, {x, b.scalar(scale), b.zero_point(DType::u8, zero)});
}

// sigmoid(1 / 128) is 128.49999... steps: f32 of it is a half, the reference kernels' f32 exponential stays below.
TEST(FixedTable, LogisticRoundsItsExponential) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {2}), 0x1p-7f, 128);
  b.output(fixed_table_quantize(b, b.unary(UnaryKind::sigmoid, x), Profile::tflite_double, 0x1p-8f, 0));
  EXPECT_EQ(rewrite(b.graph, "fixed_table", fixed_table).applied(), 1);
  const std::vector<Tensor> inputs = {Tensor::of<std::uint8_t>(Shape{2}, std::vector<std::uint8_t>{129, 255})};
  const Tensor y = evaluate(b.graph, inputs)->front();
  EXPECT_EQ(y.as<std::uint8_t>()[0], 128);
  EXPECT_EQ(y.as<std::uint8_t>()[1], 187);
}

// -91 times the factor is -83 halves: LiteRT's kernel for 16 elements at a time rounds up, the reference kernels, and
// what follows the last 16 elements, away from 0.
TEST(FixedTable, OptimizedKernelsRoundUpTwice) {
  for (const auto& [profile, expected] : {std::pair(Profile::tflite_optimized, -41), {Profile::tflite_double, -42}}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {3, 11}), 0.45690728f, 99);
    b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = profile},
                   {x, b.scalar(1.0f), b.zero_point(DType::s8, 0)}));
    EXPECT_EQ(rewrite(b.graph, "fixed_table", fixed_table).applied(), 1);
    const std::vector<Tensor> inputs = {Tensor::of<std::uint8_t>(Shape{3, 11}, std::vector<std::uint8_t>(33, 8))};
    const Tensor y = evaluate(b.graph, inputs)->front();
    EXPECT_EQ(y.shape(), (Shape{3, 11}));
    for (int i = 0; i < 33; ++i) EXPECT_EQ(y.as<std::int8_t>()[i], i < 32 ? expected : -42) << i;
  }
}

// Two values of u8 that are joined: what converts them is said by the profile, not by what reads the result.
TEST(FixedTable, JoinedValuesHaveAFormulaOfTheirOwn) {
  for (const auto& [profile, expected] : {std::pair(Profile::tflite_joined, 15), {Profile::tflite_double, 16}}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {1}), 0.5f, 3);
    b.output(fixed_table_quantize(b, x, profile, 1.0f, 17));
    EXPECT_EQ(rewrite(b.graph, "fixed_table", fixed_table).applied(), 1);
    const std::vector<Tensor> inputs = {Tensor::of<std::uint8_t>(Shape{1}, std::vector<std::uint8_t>{0})};
    EXPECT_EQ(evaluate(b.graph, inputs)->front().as<std::uint8_t>()[0], expected) << name_of(profile);
  }
}

// The numbers of LiteRT 2.3 for x = 0 to 6 in steps of 0.05, y in steps of 0.03 from -128 on.
TEST(FixedTable, RootsAreCutOffOrInFixedPoint) {
  const auto answers_of = [](bool is_inverse) {
    GraphBuilder b;
    ValueId y = b.unary(UnaryKind::sqrt, b.dequantize(b.input(DType::s8, {7}), 0.05f, -128));
    if (is_inverse) y = b.unary(UnaryKind::reciprocal, y);
    b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = Profile::tflite_double},
                   {y, b.scalar(0.03f), b.zero_point(DType::s8, -128)}));
    EXPECT_EQ(rewrite(b.graph, "fixed_table", fixed_table).applied(), 1);
    const std::vector<std::int8_t> x = {-128, -127, -126, -125, -124, -123, -122};
    const std::vector<Tensor> inputs = {Tensor::of<std::int8_t>(Shape{7}, x)};
    const Tensor result = evaluate(b.graph, inputs)->front();
    return std::vector<int>(result.as<std::int8_t>(), result.as<std::int8_t>() + 7);
  };
  EXPECT_EQ(answers_of(false), (std::vector<int>{-128, -121, -118, -116, -114, -112, -110}));
  EXPECT_EQ(answers_of(true), (std::vector<int>{127, 21, -23, -42, -53, -61, -67}));
}

TEST(FixedTable, LeavesXnnpackItsOwn) {
  for (const UnaryKind kind : {UnaryKind::sigmoid, UnaryKind::leaky_relu, UnaryKind::relu, UnaryKind::hard_swish}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {2}), 0x1p-7f, 128);
    b.output(fixed_table_quantize(b, b.unary(kind, x, 0.3f), Profile::tflite_xnnpack, 0x1p-8f, 0));
    EXPECT_EQ(refusal(b.graph, fixed_table), "");
  }
}

}  // namespace
}  // namespace octavo
