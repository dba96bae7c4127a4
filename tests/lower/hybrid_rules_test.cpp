// Rules for networks whose activations are quantized in the run, and for depthwise convolutions that stay in float.
#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "lower/rules/fuse_float_depthwise.h"
#include "lower/rules/fuse_hybrid.h"
#include "lower/rules/fuse_hybrid_result.h"
#include "ops/cast/cast.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/float_depthwise/float_depthwise.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/matmul_integer/matmul_integer.h"

namespace octavo {
namespace {

std::vector<ValueId> quantized(GraphBuilder& b, ValueId x) {
  const auto node = b.graph.add_node(kDynamicQuantize, NoAttrs{}, {x}, "quantized");
  EXPECT_TRUE(node.ok());
  return b.graph.node(*node).outputs;
}

// cast -> times x_scale * w_scale.
ValueId scaled(GraphBuilder& b, ValueId sum, ValueId x_scale, ValueId w_scale) {
  return b.binary(BinaryKind::mul, b.add(kCast, CastAttrs{.to = DType::f32}, {sum}),
                  b.binary(BinaryKind::mul, x_scale, w_scale));
}

TEST(FuseHybrid, ConvolutionWithBiasAndRelu) {
  for (DType weights : {DType::s8, DType::u8}) {
    GraphBuilder b;
    const auto q = quantized(b, b.input(DType::f32, {2, 5, 6, 8}));
    const ConvIntegerAttrs conv{
        .window = {{3, 3}, {2, 1}, {1, 1}, {1, 0}, {1, 2}}, .groups = 2, .layout = Layout::channels_last};
    const ValueId sum =
        b.add(kConvInteger, conv, {q[0], b.random_constant(weights, {6, 3, 3, 4}), q[2], b.zero_point(weights, 7)});
    const ValueId y = scaled(b, sum, q[1], b.scalar(0.37f));
    b.output(b.unary(UnaryKind::relu, b.binary(BinaryKind::add, y, b.random_constant(DType::f32, {1, 1, 1, 6}))));
    EXPECT_EQ(apply_exactly(b.graph, fuse_hybrid), 1);
    EXPECT_EQ(b.graph.node_count(), 2);
    const Node& hybrid = first(b.graph, kHybridConv);
    EXPECT_EQ(hybrid.attrs.as<HybridConvAttrs>().epilogue.find<ClampReal>()->lowest, 0.0f);
    // Values less 7 do not all fit s8: what they lack is an offset.
    EXPECT_TRUE(hybrid.inputs[kHybridOffset].exists());
  }
}

TEST(FuseHybrid, ProductOfRowsWithoutABias) {
  GraphBuilder b;
  const auto q = quantized(b, b.input(DType::f32, {2, 3, 10}));
  const ValueId sum = b.add(kMatmulInteger, NoAttrs{}, {q[0], b.random_constant(DType::s8, {10, 7}), q[2]});
  b.output(scaled(b, sum, q[1], b.random_constant(DType::f32, {7})));
  EXPECT_EQ(apply_exactly(b.graph, fuse_hybrid), 1);
  EXPECT_EQ(first(b.graph, kHybridConv).attrs.as<HybridConvAttrs>().epilogue.find<ScaleInRun>()->form, RunForm::onnx);
}

TEST(FuseHybrid, LeavesOtherSumsAlone) {
  GraphBuilder known;  // the zero point is no result of the run
  const auto q = quantized(known, known.input(DType::f32, {3, 10}));
  const ValueId w = known.random_constant(DType::s8, {10, 7});
  known.output(scaled(known, known.add(kMatmulInteger, NoAttrs{}, {q[0], w, known.scalar(std::uint8_t{3})}), q[1],
                      known.scalar(0.5f)));
  EXPECT_EQ(apply_exactly(known.graph, fuse_hybrid), 0);
  GraphBuilder integer;  // the sums themselves are the result
  const auto p = quantized(integer, integer.input(DType::f32, {3, 10}));
  integer.output(integer.add(kMatmulInteger, NoAttrs{}, {p[0], integer.random_constant(DType::s8, {10, 7}), p[2]}));
  EXPECT_EQ(apply_exactly(integer.graph, fuse_hybrid), 0);
}

// Rows of 10 with scales of their own, six results each.
ValueId row_product(GraphBuilder& b) {
  const ValueId x = b.input(DType::u8, {4, 1, 1, 10}), zero = b.input(DType::u8, {4}), scale = b.input(DType::f32, {4});
  const HybridConvAttrs attrs{.window = unit_window({1, 1}), .epilogue = {{ScaleInRun{RunForm::xnnpack}}, DType::f32}};
  return b.add(kHybridConv, attrs,
               {x,
                b.random_constant(DType::s8, {6, 1, 1, 10}),
                zero,
                {},
                scale,
                b.random_constant(DType::f32, {6}, 2),
                b.random_constant(DType::f32, {6}, 3)});
}

// Scales are powers of two: dividing by them is exact, and the bits stay the same.
TEST(FuseHybridResult, WithAStreamThatIsAdded) {
  GraphBuilder b;
  const ValueId other = b.dequantize(b.input(DType::s16, {4, 1, 1, 6}), 0x1p-4f, 0);
  const ValueId sum = b.binary(BinaryKind::add, row_product(b), other);
  b.output(b.quantize(sum, 0x1p-3f, 0, DType::s16));
  EXPECT_EQ(apply_exactly(b.graph, fuse_hybrid_result), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  const Epilogue& epilogue = first(b.graph, kHybridConv).attrs.as<HybridConvAttrs>().epilogue;
  EXPECT_EQ(epilogue.find<AddScaled>()->ratio, 0.5f);
  EXPECT_EQ(epilogue.to, DType::s16);
}

TEST(FuseHybridResult, WithAReluAndAZeroPoint) {
  GraphBuilder b;
  b.output(b.quantize(b.unary(UnaryKind::relu, row_product(b)), 0x1p-2f, 30));
  EXPECT_EQ(apply_exactly(b.graph, fuse_hybrid_result), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(first(b.graph, kHybridConv).attrs.as<HybridConvAttrs>().epilogue.find<Round>()->lowest, 30);
}

TEST(FuseHybridResult, LeavesOthersAlone) {
  GraphBuilder real;  // nothing rounds it
  real.output(row_product(real));
  EXPECT_EQ(apply_exactly(real.graph, fuse_hybrid_result), 0);
  GraphBuilder wide;  // what is added has another shape
  const ValueId row = wide.dequantize(wide.input(DType::u8, {6}), 0x1p-4f, 3);
  wide.output(wide.quantize(wide.binary(BinaryKind::add, row_product(wide), row), 0x1p-3f, 7));
  EXPECT_EQ(apply_exactly(wide.graph, fuse_hybrid_result), 0);
  GraphBuilder shared;  // somebody else reads the real result
  const ValueId product = row_product(shared);
  shared.output(shared.quantize(product, 0x1p-3f, 7));
  shared.output(product);
  EXPECT_EQ(apply_exactly(shared.graph, fuse_hybrid_result), 0);
}

TEST(FuseFloatDepthwise, WithItsClamp) {
  GraphBuilder b;
  // Such sums are exact in f32, whatever their order.
  const ValueId x = b.input(DType::f32, {1, 5, 6, 4});
  const ValueId conv = b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 1}), {3, 3}, Layout::channels_last,
                              b.random_constant(DType::f32, {4}), 4, 1);
  b.output(b.unary(UnaryKind::clip, conv, 0.0f, 6.0f));
  EXPECT_EQ(apply_exactly(b.graph, fuse_float_depthwise), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(first(b.graph, kFloatDepthwise).attrs.as<FloatDepthwiseAttrs>().highest, 6.0f);
}

TEST(FuseFloatDepthwise, OverThreeAxes) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {1, 3, 5, 6, 4});
  b.output(b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 3, 1}), {3, 3, 3}, Layout::channels_last, {}, 4, 1));
  EXPECT_EQ(apply_exactly(b.graph, fuse_float_depthwise), 1);
  EXPECT_EQ(first(b.graph, kFloatDepthwise).attrs.as<FloatDepthwiseAttrs>().window.rank(), 3);
}

TEST(FuseFloatDepthwise, LeavesOtherGroupsAlone) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {1, 5, 6, 4});
  b.output(b.conv(x, b.random_constant(DType::f32, {8, 3, 3, 1}), {3, 3}, Layout::channels_last, {}, 4));
  b.output(b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 2}), {3, 3}, Layout::channels_last, {}, 2));
  EXPECT_EQ(apply_exactly(b.graph, fuse_float_depthwise), 0);
}

}  // namespace
}  // namespace octavo
