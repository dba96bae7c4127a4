// Rules for networks whose activations are quantized in the run, and for depthwise convolutions that stay in float.
#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "lower/rules/fuse_float_depthwise.h"
#include "lower/rules/fuse_hybrid.h"
#include "ops/float_depthwise/float_depthwise.h"
#include "ops/hybrid_conv/hybrid_conv.h"

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

TEST(FuseFloatDepthwise, LeavesOtherGroupsAlone) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {1, 5, 6, 4});
  b.output(b.conv(x, b.random_constant(DType::f32, {8, 3, 3, 1}), {3, 3}, Layout::channels_last, {}, 4));
  b.output(b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 2}), {3, 3}, Layout::channels_last, {}, 2));
  EXPECT_EQ(apply_exactly(b.graph, fuse_float_depthwise), 0);
}

}  // namespace
}  // namespace octavo
