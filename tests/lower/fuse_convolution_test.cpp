// Integer convolutions: dequantize, conv, quantize.
#include "lower/rules/fuse_convolution.h"

#include "lower/graph_builder.h"
#include "lower/rules/fuse_binary.h"
#include "lower/rules/fuse_residual.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

constexpr Layout kLast = Layout::channels_last;

TEST(FuseConvolution, TakesInBiasReluAndQuantize) {
  for (DType type : {DType::u8, DType::s8}) {
    GraphBuilder b;
    const int zero = type == DType::u8 ? 121 : -7;
    const ValueId x = b.dequantize(b.input(type, {2, 5, 4, 3}), 0x1p-6f, zero);
    const ValueId bias = b.add(kDequantize, DequantizeAttrs{},
                               {b.constant<std::int32_t>({4}, {-1000, 0, 77, 5000}), b.scalar(0x1p-13f)});
    const ValueId w =
        b.add(kDequantize, DequantizeAttrs{}, {b.random_constant(DType::s8, {4, 3, 3, 3}), b.scalar(0x1p-7f)});
    const ValueId y = b.unary(UnaryKind::relu, b.conv(x, w, {3, 3}, kLast, bias, 1, 1));
    b.output(b.quantize(y, 0x1p-4f, zero, type));
    ASSERT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
    EXPECT_EQ(b.graph.node_count(), 1);
    const auto& attrs = first(b.graph, kQuantizedConv).attrs.as<QuantizedConvAttrs>();
    EXPECT_EQ(attrs.epilogue.find<Round>()->lowest, zero);
    EXPECT_EQ(attrs.x_zero_point, zero);
    EXPECT_EQ(attrs.epilogue.to, type);
  }
}

TEST(FuseConvolution, ScalesPerChannelGroupsAndFloatBias) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 6}), 0x1p-6f, 3);
  const ValueId bias = b.constant<float>({6}, {0.5f, -0.25f, 0.0f, 1.0f, -2.0f, 0.125f});
  b.output(b.quantize(b.conv(x, b.weights({6, 3, 3, 1}), {3, 3}, kLast, bias, 6, 1), 0x1p-5f, 128));
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(count(b.graph, kQuantizedConv), 1);
}

// PyTorch adds an f32 bias as it is; ONNX files mean whole units.
TEST(FuseConvolution, FloatBiasKeepsItsRestForPt2e) {
  for (const Profile profile : {Profile::onnx, Profile::pt2e}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {1, 2, 2, 2}), 0x1p-6f, 3);
    const ValueId w = b.dequantize(b.constant<std::int8_t>({2, 1, 1, 2}, {2, 100, -3, 7}), 0x1p-7f, 0);
    const ValueId bias = b.constant<float>({2}, {0x1p-13f * 5.25f, 0x1p-13f * -7.375f});
    const ValueId y = b.conv(x, w, {1, 1}, kLast, bias);
    b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::u8, .profile = profile},
                   {y, b.scalar(0x1p-5f), b.constant<std::uint8_t>({}, {128})}));
    ASSERT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
    const Node& conv = first(b.graph, kQuantizedConv);
    ASSERT_EQ(conv.inputs.size(), kConvOperands + (profile == Profile::pt2e ? 2u : 1u));
    if (profile == Profile::onnx) continue;
    EXPECT_EQ(to_floats(b.graph.fact(conv.inputs[kConvOperands]).constant->view()),
              (std::vector<float>{0.25f, -0.375f}));
    EXPECT_EQ(b.graph.fact(conv.inputs[kConvBias]).constant->as<std::int32_t>()[0], 5 - 3 * 102);
  }
}

// Every zero point that the types allow, weights at both ends of their range.
TEST(FuseConvolution, WeightZeroPointBecomesAnOffset) {
  for (const DType type : {DType::u8, DType::s8}) {
    const IntegerRange range = range_of(type);
    for (const std::int64_t zero_point : {range.lowest, range.lowest + 100, range.highest}) {
      SCOPED_TRACE(std::string(name_of(type)) + " " + std::to_string(zero_point));
      GraphBuilder b;
      const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 5}), 0x1p-6f, 3);
      Tensor weights = GraphBuilder::random(type, {3, 2, 2, 5}, 1);
      weights.as<std::uint8_t>()[0] = 0x00, weights.as<std::uint8_t>()[1] = 0xff, weights.as<std::uint8_t>()[2] = 0x80;
      weights.as<std::uint8_t>()[3] = 0x7f;
      const ValueId w =
          b.dequantize(b.graph.add_constant("w", weights), 0x1p-7f, static_cast<std::int32_t>(zero_point));
      b.output(b.quantize(b.conv(x, w, {2, 2}, kLast), 0x1p-2f, 128));
      ASSERT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
      const Node& conv = first(b.graph, kQuantizedConv);
      ASSERT_EQ(conv.inputs.size(), kConvOperands + 1u);
      const std::int64_t offset = (type == DType::u8 ? 128 : 0) - zero_point;
      EXPECT_EQ(b.graph.fact(conv.inputs[kConvOffset]).constant->as<std::int32_t>()[0], offset);
      EXPECT_EQ(b.graph.fact(conv.inputs[1]).shape, (Shape{3, 2, 2, 5}));
    }
  }
}

TEST(FuseConvolution, WeightsAroundTheirZeroPointNeedNoOffset) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 2, 2, 2}), 0x1p-6f, 3);
  const ValueId w = b.dequantize(b.constant<std::uint8_t>({1, 1, 1, 2}, {2, 255}), 0x1p-7f, 130);
  b.output(b.quantize(b.conv(x, w, {1, 1}, kLast), 0x1p-5f, 128));
  ASSERT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_FALSE(first(b.graph, kQuantizedConv).inputs[kConvOffset].exists());
}

TEST(FuseConvolution, WithoutQuantizeTheResultIsF32) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0x1p-6f, 3);
  b.output(b.conv(x, b.weights({3, 3, 3, 2}), {3, 3}, kLast));
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(first(b.graph, kQuantizedConv).attrs.as<QuantizedConvAttrs>().epilogue.to, DType::f32);
}

TEST(FuseConvolution, ResidualBeforeAnythingIsRounded) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0x1p-6f, 3);
  const ValueId other = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0x1p-5f, 60);
  const ValueId sum = b.binary(BinaryKind::add, other, b.conv(x, b.weights({2, 3, 3, 2}), {3, 3}, kLast, {}, 1, 1));
  b.output(b.quantize(b.unary(UnaryKind::relu, sum), 0x1p-4f, 0));
  ASSERT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_NE(first(b.graph, kQuantizedConv).attrs.as<QuantizedConvAttrs>().epilogue.find<ScaleAndAdd>(), nullptr);
}

TEST(FuseConvolution, ResidualAfterRoundingKeepsBothRoundings) {
  for (bool conv_is_first : {true, false}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0x1p-6f, 3);
    const ValueId other = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0x1p-5f, 60);
    const ValueId rounded = b.quantize(b.conv(x, b.weights({2, 3, 3, 2}), {3, 3}, kLast, {}, 1, 1), 0x1p-4f, 100);
    const ValueId own = b.dequantize(rounded, 0x1p-4f, 100);
    b.output(b.quantize(conv_is_first ? b.binary(BinaryKind::add, own, other) : b.binary(BinaryKind::add, other, own),
                        0x1p-4f, 90));
    EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
    EXPECT_EQ(apply_exactly(b.graph, fuse_binary), 1);
    EXPECT_EQ(apply_exactly(b.graph, fuse_residual), 1);
    EXPECT_EQ(b.graph.node_count(), 1);
    EXPECT_EQ(first(b.graph, kQuantizedConv).attrs.as<QuantizedConvAttrs>().epilogue.find<AddReal>()->side,
              conv_is_first ? Side::first : Side::second);
  }
}

TEST(FuseConvolution, RefusesWhatCouldLeave32Bits) {
  GraphBuilder b;
  const std::int64_t channels = 70000;  // 70000 * 255 * 127 > 2^31
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 1, 1, channels}), 0x1p-6f, 0);
  const ValueId w = b.dequantize(
      b.constant<std::int8_t>({1, 1, 1, channels}, std::vector<std::int8_t>(static_cast<std::size_t>(channels), 127)),
      0x1p-7f, 0);
  b.output(b.quantize(b.conv(x, w, {1, 1}, kLast), 1.0f, 0));
  EXPECT_EQ(refusal(b.graph, fuse_convolution), "the sum of output channel 0 could leave 32 bits");
}

TEST(FuseConvolution, RefusesFloatInput) {
  GraphBuilder b;
  b.output(b.quantize(b.conv(b.input(DType::f32, {1, 3, 3, 2}), b.weights({2, 1, 1, 2}), {1, 1}, kLast), 1.0f, 0));
  EXPECT_EQ(refusal(b.graph, fuse_convolution), "its input is not quantized");
}

TEST(FuseResidual, RefusesAConvolutionThatOthersRead) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0x1p-6f, 3);
  const ValueId rounded = b.quantize(b.conv(x, b.weights({2, 3, 3, 2}), {3, 3}, kLast, {}, 1, 1), 0x1p-4f, 100);
  b.output(b.quantize(b.binary(BinaryKind::add, b.dequantize(rounded, 0x1p-4f, 100), x), 0x1p-4f, 90));
  b.output(rounded);
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(apply_exactly(b.graph, fuse_binary), 1);
  EXPECT_EQ(refusal(b.graph, fuse_residual), "the convolution before it has several readers");
}

}  // namespace
}  // namespace octavo
