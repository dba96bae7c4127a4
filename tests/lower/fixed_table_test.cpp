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

// -91 times the factor is -83 halves: LiteRT's kernel for 16 elements at a time rounds up, the reference kernels away
// from 0.
TEST(FixedTable, BetweenTypesXnnpackProfileRoundsUpTwice) {
  for (const auto& [profile, expected] : {std::pair(Profile::tflite_xnnpack, -41), {Profile::tflite_double, -42}}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {1}), 0.45690728f, 99);
    b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = profile},
                   {x, b.scalar(1.0f), b.zero_point(DType::s8, 0)}));
    EXPECT_EQ(rewrite(b.graph, "fixed_table", fixed_table).applied(), 1);
    const std::vector<Tensor> inputs = {Tensor::of<std::uint8_t>(Shape{1}, std::vector<std::uint8_t>{8})};
    EXPECT_EQ(evaluate(b.graph, inputs)->front().as<std::int8_t>()[0], expected);
  }
}

TEST(FixedTable, LeavesXnnpackItsOwn) {
  for (const UnaryKind kind : {UnaryKind::sigmoid, UnaryKind::leaky_relu}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {2}), 0x1p-7f, 128);
    b.output(fixed_table_quantize(b, b.unary(kind, x, 0.3f), Profile::tflite_xnnpack, 0x1p-8f, 0));
    EXPECT_EQ(refusal(b.graph, fixed_table), "");
  }
}

}  // namespace
}  // namespace octavo
