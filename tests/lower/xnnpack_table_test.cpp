// Functions of one quantized value in XNNPACK's integers; the numbers are LiteRT 2.3's.
#include "lower/rules/xnnpack_table.h"

#include <numeric>

#include "lower/graph_builder.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

// What quantize(leaky_relu(dequantize(x))) gives for all s8 values, -128 first; one scale and zero point -1.
std::vector<std::int8_t> leaky_relu(float scale, float alpha) {
  GraphBuilder b;
  const ValueId x = b.unary(UnaryKind::leaky_relu, b.dequantize(b.input(DType::s8, {256}), scale, -1), alpha);
  b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = Profile::tflite_xnnpack},
                 {x, b.scalar(scale), b.zero_point(DType::s8, -1)}));
  EXPECT_EQ(rewrite(b.graph, "xnnpack_table", xnnpack_table).applied(), 1);
  EXPECT_EQ(count(b.graph, kTable), 1);
  std::vector<std::int8_t> all(256);
  std::iota(all.begin(), all.end(), std::int8_t{-128});
  const std::vector<Tensor> inputs = {Tensor::of(Shape{256}, all)};
  const Tensor y = evaluate(b.graph, inputs)->front();
  return {y.as<std::int8_t>(), y.as<std::int8_t>() + 256};
}

TEST(XnnpackTable, LeakyReluBetweenEqualScalesHasItsEightBits) {
  const std::vector<std::int8_t> y = leaky_relu(0.05432227f, 0.1081559956073761f);
  EXPECT_EQ(y[-125 + 128], -15);  // the reference kernels have -14, -10, -9 and -5 here
  EXPECT_EQ(y[-88 + 128], -11);
  EXPECT_EQ(y[-79 + 128], -10);
  EXPECT_EQ(y[-33 + 128], -4);
  for (int q = -1; q < 128; ++q) EXPECT_EQ(y[static_cast<std::size_t>(q + 128)], q);
}

TEST(XnnpackTable, LeavesACopyAlone) {
  GraphBuilder b;
  b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = Profile::tflite_xnnpack},
                 {b.dequantize(b.input(DType::s8, {256}), 0.5f, 3), b.scalar(0.5f), b.zero_point(DType::s8, 3)}));
  EXPECT_EQ(refusal(b.graph, xnnpack_table), "");
}

}  // namespace
}  // namespace octavo
