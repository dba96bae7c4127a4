// Additions, products, pools, softmax and matrix products of quantized values.
#include "lower/graph_builder.h"
#include "lower/rules/fuse_binary.h"
#include "lower/rules/fuse_convolution.h"
#include "lower/rules/fuse_matmul.h"
#include "lower/rules/fuse_pool.h"
#include "lower/rules/fuse_softmax.h"
#include "lower/rules/fuse_sum.h"
#include "lower/rules/matmul_to_conv.h"
#include "lower/rules/structure_on_integers.h"
#include "lower/rules/transpose_into_weights.h"
#include "ops/average_pool/average_pool.h"
#include "ops/matmul/matmul.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

TEST(FuseBinary, AddAndMulWithBroadcastAndClamp) {
  for (BinaryKind kind : {BinaryKind::add, BinaryKind::mul}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {2, 3, 3, 4}), 0x1p-5f, 100);
    const ValueId y = b.dequantize(b.input(DType::u8, {2, 1, 1, 4}), 0x1p-6f, 30);
    b.output(b.quantize(b.unary(UnaryKind::clip, b.binary(kind, x, y), 0.0f, 3.0f), 0x1p-5f, 20));
    EXPECT_EQ(apply_exactly(b.graph, fuse_binary), 1);
    EXPECT_EQ(b.graph.node_count(), 1);
    const Epilogue& epilogue = first(b.graph, kQuantizedElementwise).attrs.as<QuantizedElementwiseAttrs>().epilogue;
    EXPECT_EQ(epilogue.find<Round>()->highest, 116);
  }
}

TEST(FuseBinary, RefusesDivisionAndFloats) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {4}), 0x1p-5f, 100);
  const ValueId y = b.dequantize(b.input(DType::u8, {4}), 0x1p-6f, 30);
  b.output(b.quantize(b.binary(BinaryKind::div, x, y), 0x1p-5f, 20));
  EXPECT_EQ(refusal(b.graph, fuse_binary), "there is no integer form of div of two quantized values");
  GraphBuilder c;
  c.output(c.quantize(
      c.binary(BinaryKind::add, c.dequantize(c.input(DType::u8, {4}), 0x1p-5f, 100), c.input(DType::f32, {4})), 0x1p-5f,
      20));
  EXPECT_EQ(refusal(c.graph, fuse_binary), "not both of its operands are quantized");
}

TEST(FusePool, MeanOverTheImage) {
  for (bool keeps : {true, false}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::s8, {2, 4, 4, 5}), 0x1p-5f, -10);
    b.output(b.quantize(b.add(kReduce, ReduceAttrs{ReduceKind::mean, {1, 2}, keeps}, {x}), 0x1p-6f, 4, DType::s8));
    EXPECT_EQ(apply_exactly(b.graph, fuse_pool), 1);
    EXPECT_EQ(count(b.graph, kQuantizedPool), 1);
    EXPECT_EQ(b.graph.node_count(), keeps ? 1 : 2);
  }
}

TEST(FusePool, WindowsAndRefusals) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 5, 5, 3}), 0x1p-5f, 10);
  const AveragePoolAttrs pool{unit_window({2, 2}), Rounding::floor, false, Layout::channels_last};
  b.output(b.quantize(b.add(kAveragePool, pool, {x}), 0x1p-5f, 10));
  EXPECT_EQ(apply_exactly(b.graph, fuse_pool), 1);
  GraphBuilder c;
  const ValueId y = c.dequantize(c.input(DType::u8, {1, 5, 5, 3}), 0x1p-5f, 10);
  c.output(c.quantize(c.add(kReduce, ReduceAttrs{ReduceKind::mean, {3}, true}, {y}), 0x1p-5f, 10));
  EXPECT_EQ(refusal(c.graph, fuse_pool), "it has no integer form: only averages over two spatial axes have one");
}

// Axes that are no neighbours are moved behind the others. Sums of one scale are exact.
// Of stored values, with the zero point in before the rounding: 10 / 4 is 2 over an even zero point, 3 over an odd one.
TEST(FuseSum, XnnpackRoundsWithTheZeroPointIn) {
  struct Case {
    ReduceKind kind;
    std::vector<std::int64_t> axes;
    float y_scale;
  };
  for (const Case& one : {Case{ReduceKind::mean, {1, 2}, 0.25f}, Case{ReduceKind::mean, {1}, 0.25f},
                          Case{ReduceKind::sum, {1, 2}, 1.0f}, Case{ReduceKind::sum, {1, 3}, 1.0f}}) {
    for (const int zero : {20, 21}) {
      GraphBuilder b;
      const Shape shape = one.axes == std::vector<std::int64_t>{1} ? Shape{1, 4, 1, 1} : Shape{1, 2, 2, 1};
      const bool is_apart = one.axes == std::vector<std::int64_t>{1, 3};
      const ValueId x = b.dequantize(b.input(DType::u8, is_apart ? Shape{1, 2, 1, 2} : shape), 0.25f, 7);
      const ValueId y = b.add(kReduce, ReduceAttrs{one.kind, one.axes, false}, {x});
      b.output(b.add(kQuantize, QuantizeAttrs{.profile = Profile::tflite_xnnpack},
                     {y, b.scalar(one.y_scale), b.zero_point(DType::u8, zero)}));
      EXPECT_EQ(rewrite(b.graph, "fuse_sum", fuse_sum).applied(), 1);
      EXPECT_EQ(count(b.graph, kQuantizedPool), 1);
      const std::vector<std::uint8_t> values = {8, 9, 10, 11};
      const std::vector<Tensor> inputs = {Tensor::of(b.graph.fact(b.graph.inputs()[0]).shape, values)};
      EXPECT_EQ(evaluate(b.graph, inputs)->front().as<std::uint8_t>()[0], zero == 20 ? 22 : 24);
    }
  }
}

TEST(FuseSum, AnyAxes) {
  const std::vector<std::vector<std::int64_t>> all_axes = {{1, 2},    {0, 2}, {1, 3},      {0, 3},
                                                           {0, 1, 3}, {3},    {0, 1, 2, 3}};
  for (const auto& axes : all_axes) {
    for (const bool keeps : {true, false}) {
      GraphBuilder b;
      const ValueId x = b.dequantize(b.input(DType::u8, {2, 3, 4, 5}), 0x1p-5f, 127);
      const ValueId sum = b.add(kReduce, ReduceAttrs{ReduceKind::sum, axes, keeps}, {x});
      const ValueId scale = b.graph.add_constant("scale", Tensor::scalar(0x1p-5f));
      const ValueId zero = b.graph.add_constant("zero", Tensor::scalar(std::uint8_t{9}));
      b.output(b.add(kQuantize, QuantizeAttrs{.to = DType::u8, .profile = Profile::tflite_double}, {sum, scale, zero}));
      EXPECT_EQ(apply_exactly(b.graph, fuse_sum), 1);
      EXPECT_EQ(count(b.graph, kQuantizedPool), 1);
      EXPECT_EQ(count(b.graph, kReduce), 0);
      const bool are_neighbours = axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
      EXPECT_EQ(count(b.graph, kTranspose), are_neighbours ? 0 : 1);
    }
  }
}

TEST(FuseSoftmax, LastAxisOnly) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {3, 10}), 0.1f, 10);
  b.output(b.quantize(b.add(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, 1}, {x}), 1.0f / 256, 0));
  const std::vector<Tensor> before = answers(b.graph);
  EXPECT_EQ(rewrite(b.graph, "fuse_softmax", fuse_softmax).applied(), 1);
  const std::vector<Tensor> after = answers(b.graph);
  for (std::int64_t i = 0; i < 30; ++i) EXPECT_NEAR(before[0].as<std::uint8_t>()[i], after[0].as<std::uint8_t>()[i], 1);
  GraphBuilder c;
  const ValueId y = c.dequantize(c.input(DType::u8, {3, 10}), 0.1f, 10);
  c.output(c.quantize(c.add(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, 0}, {y}), 1.0f / 256, 0));
  EXPECT_EQ(refusal(c.graph, fuse_softmax), "it is not along the last axis");
}

TEST(FuseSoftmax, HoldsAtEveryLength) {
  for (const Profile profile : {Profile::onnx, Profile::tflite_xnnpack}) {
    GraphBuilder b;
    b.graph.set_sizes(std::make_shared<Sizes>());
    const Dim n = b.graph.sizes()->add({.name = "n"}, 48);
    const ValueId x = b.dequantize(b.graph.add_input("x", DType::u8, OpenShape{2, n}), 0x1p-4f, 100);
    const ValueId softmax = b.add(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, 1}, {x});
    const QuantizeAttrs to{.to = DType::u8, .profile = profile};
    b.output(b.add(kQuantize, to, {softmax, b.scalar(1.0f / 256), b.zero_point(DType::u8, 0)}));
    EXPECT_EQ(rewrite(b.graph, "fuse_softmax", fuse_softmax).applied(), 1);
    EXPECT_TRUE(b.graph.sizes()->conditions().empty());
  }
}

TEST(FuseMatmul, TwoActivations) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {2, 3, 4}), 0x1p-5f, 100);
  const ValueId y = b.dequantize(b.input(DType::s8, {2, 4, 5}), 0x1p-6f, 30);
  b.output(b.quantize(b.add(kMatmul, NoAttrs{}, {x, y}), 0x1p-3f, 20));
  EXPECT_EQ(apply_exactly(b.graph, fuse_matmul), 1);
  GraphBuilder to_f32;
  const ValueId left = to_f32.dequantize(to_f32.input(DType::u8, {2, 3, 4}), 0x1p-5f, 100);
  const ValueId right = to_f32.dequantize(to_f32.input(DType::s8, {2, 4, 5}), 0x1p-6f, 30);
  to_f32.output(to_f32.unary(UnaryKind::relu, to_f32.add(kMatmul, NoAttrs{}, {left, right})));
  EXPECT_EQ(apply_exactly(to_f32.graph, fuse_matmul), 1);
  EXPECT_EQ(count(to_f32.graph, kDequantize), 0);
  GraphBuilder c;
  c.output(c.add(kMatmul, NoAttrs{}, {c.input(DType::f32, {2, 3}), c.input(DType::f32, {3, 2})}));
  EXPECT_EQ(refusal(c.graph, fuse_matmul), "not both of its operands are quantized");
}

TEST(MatmulToConv, QuantizedWithBiasPerColumn) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {2, 3, 4}), 0x1p-5f, 100);
  const ValueId w = b.add(kDequantize, DequantizeAttrs{.axis = 1},
                          {b.random_constant(DType::s8, {4, 2}), b.constant<float>({2}, {0x1p-7f, 0x1p-6f})});
  const ValueId bias =
      b.add(kDequantize, DequantizeAttrs{.axis = 0},
            {b.constant<std::int32_t>({2}, {500, -300}), b.constant<float>({2}, {0x1p-12f, 0x1p-11f})});
  b.output(b.quantize(b.binary(BinaryKind::add, bias, b.add(kMatmul, NoAttrs{}, {x, w})), 0x1p-3f, 20));
  EXPECT_EQ(apply_exactly(b.graph, quantized_matmul_to_conv), 1);
  const auto structure = [](const Graph& graph, const Node& node) {
    Match match = structure_before_dequantize(graph, node);
    return std::holds_alternative<Patch>(match) ? match : structure_after_quantize(graph, node);
  };
  EXPECT_EQ(apply_exactly(b.graph, structure), 2);
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(b.graph.node_count(), 3);
}

TEST(MatmulToConv, FloatsOnlyWhereAskedFor) {
  GraphBuilder b;
  b.output(b.add(kMatmul, NoAttrs{}, {b.input(DType::f32, {5, 4}), b.random_constant(DType::f32, {4, 2})}));
  EXPECT_EQ(refusal(b.graph, quantized_matmul_to_conv), "");
  EXPECT_EQ(apply_exactly(b.graph, matmul_to_conv), 1);
}

TEST(TransposeIntoWeights, FlattenedImageKeepsItsOrder) {
  for (bool is_quantized : {false, true}) {
    GraphBuilder b;
    ValueId x = b.input(is_quantized ? DType::u8 : DType::f32, {2, 3, 5, 4});
    x = b.add(kTranspose, TransposeAttrs{{0, 3, 1, 2}}, {x});
    x = b.add(kReshape, ReshapeAttrs{{2, 1, 1, 60}}, {x});
    if (is_quantized) x = b.dequantize(x, 0x1p-5f, 100);
    const ValueId w = is_quantized ? b.weights({3, 1, 1, 60}) : b.random_constant(DType::f32, {3, 1, 1, 60});
    b.output(b.conv(x, w, {1, 1}, Layout::channels_last));
    EXPECT_EQ(apply_exactly(b.graph, transpose_into_weights), 1);
    EXPECT_EQ(count(b.graph, kTranspose), 0);
  }
}

TEST(TransposeIntoWeights, RefusesAMovedBatch) {
  GraphBuilder b;
  ValueId x = b.add(kTranspose, TransposeAttrs{{1, 0, 2}}, {b.input(DType::f32, {2, 3, 5})});
  x = b.add(kReshape, ReshapeAttrs{{3, 1, 1, 10}}, {x});
  b.output(b.conv(x, b.random_constant(DType::f32, {3, 1, 1, 10}), {1, 1}, Layout::channels_last));
  EXPECT_EQ(refusal(b.graph, transpose_into_weights), "");
}

}  // namespace
}  // namespace octavo
