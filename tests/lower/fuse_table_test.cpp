// Functions of one quantized value become tables, bit for bit what the chain of operators gives.
#include "lower/rules/fuse_table.h"

#include <algorithm>
#include <numeric>

#include "lower/graph_builder.h"
#include "lower/rules/fuse_binary.h"
#include "lower/rules/fuse_convolution.h"

namespace octavo {
namespace {

TEST(FuseTable, OneFunction) {
  for (UnaryKind kind :
       {UnaryKind::sigmoid, UnaryKind::silu, UnaryKind::hard_swish, UnaryKind::gelu, UnaryKind::tanh, UnaryKind::exp}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::s8, {3, 100}), 0.037f, -11);
    b.output(b.quantize(b.unary(kind, x), 0.0213f, 5, DType::s8));
    ASSERT_EQ(apply_exactly(b.graph, fuse_table), 1);
    EXPECT_EQ(b.graph.node_count(), 1);
  }
}

TEST(FuseTable, SiluWithPairsInside) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {2, 200}), 0.05f, 77);
  const ValueId gate = b.dequantize(b.quantize(b.unary(UnaryKind::sigmoid, x), 1.0f / 256, 0), 1.0f / 256, 0);
  b.output(b.quantize(b.binary(BinaryKind::mul, x, gate), 0.031f, 9));
  apply_exactly(b.graph, fuse_table);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(count(b.graph, kTable), 1);
}

// Scales of EfficientNet-B3: dequantizing both factors, multiplying and quantizing gives 75 for 166, the product of
// quantized values 74.
TEST(FuseTable, ProductsInsideRoundAsProductsOfQuantizedValues) {
  std::vector<std::uint8_t> all(256);
  std::iota(all.begin(), all.end(), std::uint8_t{0});
  const auto answers = [&](bool is_table) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {256}), 0x1.95f0bep-6f, 127);
    constexpr float kGateScale = 0x1.ed70fp-9f;
    const ValueId gate = b.dequantize(b.quantize(b.unary(UnaryKind::sigmoid, x), kGateScale, 0), kGateScale, 0);
    b.output(b.quantize(b.binary(BinaryKind::mul, x, gate), 0x1.abca08p-7f, 21));
    if (!is_table) rewrite(b.graph, "fuse_binary", fuse_binary);
    rewrite(b.graph, "fuse_table", fuse_table);
    EXPECT_EQ(count(b.graph, kQuantizedBinary), is_table ? 0 : 1);
    const std::vector<Tensor> inputs = {Tensor::of(Shape{256}, all)};
    return evaluate(b.graph, inputs)->front();
  };
  const Tensor table = answers(true), product = answers(false);
  EXPECT_TRUE(std::equal(table.data(), table.data() + 256, product.data()));
  EXPECT_EQ(table.as<std::uint8_t>()[166], 74);
}

TEST(FuseTable, ConstantsMayBeQuantized) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {200}), 0.05f, 77);
  const ValueId three = b.dequantize(b.constant<std::uint8_t>({1}, {60}), 0.05f, 0);
  b.output(b.quantize(b.unary(UnaryKind::clip, b.binary(BinaryKind::add, x, three), 0.0f, 6.0f), 0.025f, 0));
  EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
  EXPECT_EQ(count(b.graph, kTable), 1);
}

TEST(FuseTable, RequantizationIsATable) {
  GraphBuilder b;
  b.output(b.quantize(b.dequantize(b.input(DType::u8, {300}), 0.05f, 77), 0.043f, -3, DType::s8));
  EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
}

TEST(FuseTable, RefusesTwoValuesAndBroadcasts) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {8}), 0.05f, 77);
  const ValueId y = b.dequantize(b.input(DType::u8, {8}), 0.05f, 77);
  b.output(b.quantize(b.binary(BinaryKind::mul, x, y), 0.05f, 0));
  EXPECT_EQ(refusal(b.graph, fuse_table), "");
  GraphBuilder c;
  const ValueId z = c.dequantize(c.input(DType::u8, {4}), 0.05f, 77);
  c.output(c.quantize(c.binary(BinaryKind::mul, z, c.constant<float>({4}, {1, 2, 3, 4})), 0.05f, 0));
  EXPECT_EQ(refusal(c.graph, fuse_table), "");
}

TEST(TableIntoProducer, ConvolutionAppliesItLast) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0x1p-6f, 3);
  const ValueId q = b.quantize(b.conv(x, b.weights({2, 1, 1, 2}), {1, 1}, Layout::channels_last), 0x1p-5f, 128);
  b.output(b.quantize(b.unary(UnaryKind::silu, b.dequantize(q, 0x1p-5f, 128)), 0.017f, 20));
  EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
}

TEST(TableIntoProducer, AClampBecomesBounds) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0x1p-6f, 3);
  const ValueId q = b.quantize(b.conv(x, b.weights({2, 1, 1, 2}), {1, 1}, Layout::channels_last), 0x1p-5f, 100);
  b.output(b.quantize(b.unary(UnaryKind::relu, b.dequantize(q, 0x1p-5f, 100)), 0x1p-5f, 100));
  apply_exactly(b.graph, fuse_table);
  apply_exactly(b.graph, fuse_convolution);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
  const Node& conv = first(b.graph, kQuantizedConv);
  EXPECT_EQ(conv.attrs.as<QuantizedConvAttrs>().lowest, 100);
  EXPECT_LE(conv.inputs.size(), 4u);
}

TEST(TableIntoProducer, BinaryAndChainsOfTables) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {64}), 0.03f, 3);
  const ValueId y = b.dequantize(b.input(DType::u8, {64}), 0.05f, 77);
  const ValueId sum = b.quantize(b.binary(BinaryKind::add, x, y), 0.06f, 80);
  const ValueId once = b.add(kTable, NoAttrs{}, {sum, b.random_constant(DType::s8, {256}, 2)});
  b.output(b.add(kTable, NoAttrs{}, {once, b.random_constant(DType::u8, {256}, 3)}));
  const PassReport fused = rewrite(b.graph, "fuse_binary", fuse_binary);
  EXPECT_EQ(fused.applied(), 1);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 2);
  EXPECT_EQ(b.graph.node_count(), 1);
}

}  // namespace
}  // namespace octavo
