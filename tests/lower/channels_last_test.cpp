// The change of layout: same answers, transposes only where the graph begins and ends.
#include "lower/channels_last.h"

#include "lower/graph_builder.h"
#include "lower/rules/drop_identity.h"
#include "ops/argmax/argmax.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/concat/concat.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/matmul/matmul.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

constexpr Layout kFirst = Layout::channels_first;

// Changes the layout; the graph must answer with the same bits.
void change(Graph& graph) {
  const std::vector<Tensor> before = answers(graph);
  const Status changed = make_channels_last(graph);
  ASSERT_TRUE(changed.ok()) << to_string(changed.errors());
  rewrite(graph, "clean", drop_identity);
  const Status verified = verify(graph);
  ASSERT_TRUE(verified.ok()) << to_string(verified.errors());
  EXPECT_EQ(answers(graph), before) << to_string(graph);
}

TEST(ChannelsLast, NetworkWithResidualPoolsAndPadding) {
  GraphBuilder b;
  ValueId x = b.input(DType::f32, {2, 3, 9, 8});
  x = b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 3}), {3, 3}, kFirst, {}, 1, 1);
  const ValueId left = b.conv(x, b.random_constant(DType::f32, {4, 1, 3, 3}), {3, 3}, kFirst, {}, 4, 1);
  x = b.unary(UnaryKind::relu, b.binary(BinaryKind::add, x, left));
  x = b.binary(BinaryKind::mul, x, b.random_constant(DType::f32, {4, 1, 1}));
  x = b.add(kPad, PadAttrs{PadMode::constant, {0, 0, 1, 0}, {0, 1, 0, 2}}, {x});
  x = b.add(kMaxPool, MaxPoolAttrs{unit_window({2, 2}), Rounding::floor, kFirst}, {x});
  x = b.add(kReduce, ReduceAttrs{ReduceKind::mean, {2, 3}, true}, {x});
  x = b.add(kReshape, ReshapeAttrs{{2, 5}}, {x});
  b.output(x);
  change(b.graph);
  EXPECT_EQ(count(b.graph, kTranspose), 1);
}

TEST(ChannelsLast, QuantizedImageIsTransposedAsBytes) {
  GraphBuilder b;
  ValueId x = b.quantize(b.input(DType::f32, {1, 3, 4, 5}), 0.01f, 100);
  x = b.dequantize(x, 0.01f, 100);
  x = b.conv(x, b.weights({4, 3, 1, 1}), {1, 1}, kFirst);
  b.output(b.quantize(x, 0.02f, 100));
  change(b.graph);
  EXPECT_EQ(count(b.graph, kTranspose), 2);
  EXPECT_EQ(b.graph.fact(first(b.graph, kTranspose).outputs[0]).dtype, DType::u8);
}

// A file whose images have their channels last turns one and resizes it: the turn stays in front, because only images
// in their own order have an integer form.
TEST(ChannelsLast, ATurnedImageIsResizedInItsOwnOrder) {
  GraphBuilder b;
  const ValueId x = b.add(kTranspose, TransposeAttrs{{0, 1, 3, 2}}, {b.input(DType::f32, {1, 3, 4, 8})});
  b.output(
      b.add(kResize, ResizeAttrs{.mode = ResizeMode::linear, .sizes = {1, 6, 5, 4}, .scales = {1, 2, 0.625f, 1}}, {x}));
  change(b.graph);
  EXPECT_EQ(first(b.graph, kResize).attrs.as<ResizeAttrs>().sizes, (std::vector<Dim>{1, 6, 5, 4}));
}

TEST(ChannelsLast, ShuffleStaysOnTheLastAxis) {
  GraphBuilder b;
  ValueId x = b.conv(b.input(DType::f32, {2, 6, 3, 4}), b.random_constant(DType::f32, {6, 6, 1, 1}), {1, 1}, kFirst);
  x = b.add(kReshape, ReshapeAttrs{{2, 2, 3, 3, 4}}, {x});
  x = b.add(kTranspose, TransposeAttrs{{0, 2, 1, 3, 4}}, {x});
  x = b.add(kReshape, ReshapeAttrs{{2, 6, 3, 4}}, {x});
  x = b.conv(x, b.random_constant(DType::f32, {2, 6, 1, 1}), {1, 1}, kFirst);
  b.output(b.add(kReduce, ReduceAttrs{ReduceKind::mean, {2, 3}, false}, {x}));
  change(b.graph);
  EXPECT_EQ(count(b.graph, kTranspose), 2);  // the image, and the shuffle itself
}

TEST(ChannelsLast, TransposesOfTheFileAreCarried) {
  GraphBuilder b;
  ValueId x =
      b.conv(b.input(DType::f32, {1, 4, 5, 6}), b.random_constant(DType::f32, {4, 1, 3, 3}), {3, 3}, kFirst, {}, 4, 1);
  x = b.add(kTranspose, TransposeAttrs{{0, 2, 3, 1}}, {x});
  x = b.add(kLayerNorm, LayerNormAttrs{3, 1e-6f},
            {x, b.random_constant(DType::f32, {4}), b.random_constant(DType::f32, {4}, 2)});
  x = b.add(kMatmul, NoAttrs{}, {x, b.random_constant(DType::f32, {4, 4})});
  x = b.add(kTranspose, TransposeAttrs{{0, 3, 1, 2}}, {x});
  x = b.conv(x, b.random_constant(DType::f32, {2, 4, 1, 1}), {1, 1}, kFirst);
  b.output(b.add(kReduce, ReduceAttrs{ReduceKind::max, {2, 3}, false}, {x}));
  change(b.graph);
  EXPECT_EQ(count(b.graph, kTranspose), 1);
}

TEST(ChannelsLast, EverythingThatNamesAnAxis) {
  GraphBuilder b;
  ValueId x = b.conv(b.input(DType::f32, {2, 4, 5, 6}), b.random_constant(DType::f32, {4, 4, 1, 1}), {1, 1}, kFirst);
  const ValueId y = b.add(kSlice, SliceAttrs{{0, 3, 0, 1}, {1, -1, 2, 1}, {2, 4, 3, 3}}, {x});
  const ValueId z = b.add(kConcat, ConcatAttrs{1}, {y, b.random_constant(DType::f32, {2, 1, 3, 3})});
  const ValueId resized =
      b.add(kResize, ResizeAttrs{.mode = ResizeMode::linear, .sizes = {2, 5, 6, 3}, .scales = {1, 1, 2, 1}}, {z});
  const ValueId soft = b.add(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, 1}, {resized});
  const ValueId normal = b.add(kLrn, LrnAttrs{.size = 3, .axis = 1}, {soft});
  const ValueId picked = b.add(kGather, GatherAttrs{1}, {normal, b.constant<std::int64_t>({2}, {4, -5})});
  b.output(b.add(kExpand, ExpandAttrs{{2, 2, 6, 3}}, {picked}));
  b.output(b.add(kArgmax, ArgmaxAttrs{ArgKind::max, 2, false, false}, {normal}));
  b.output(b.add(kBatchNorm, BatchNormAttrs{1e-3f, 1},
                 {normal, b.random_constant(DType::f32, {5}, 1), b.random_constant(DType::f32, {5}, 2),
                  b.random_constant(DType::f32, {5}, 3), b.constant<float>({5}, {1, 2, 3, 4, 5})}));
  change(b.graph);
}

TEST(ChannelsLast, LinesBecomeImagesOfHeightOne) {
  GraphBuilder b;
  ValueId x = b.conv(b.input(DType::f32, {2, 3, 20}), b.random_constant(DType::f32, {4, 3, 5}), {5}, kFirst, {}, 1, 2);
  x = b.add(kMaxPool, MaxPoolAttrs{unit_window({2}), Rounding::floor, kFirst}, {x});
  b.output(x);
  change(b.graph);
  EXPECT_EQ(first(b.graph, kConv).attrs.as<ConvAttrs>().window.rank(), 2);
}

TEST(ChannelsLast, FlattenOfAnImageNeedsTheOldOrder) {
  GraphBuilder b;
  ValueId x = b.conv(b.input(DType::f32, {1, 2, 3, 4}), b.random_constant(DType::f32, {5, 2, 1, 1}), {1, 1}, kFirst);
  b.output(b.add(kReshape, ReshapeAttrs{{1, 60}}, {x}));
  change(b.graph);
  EXPECT_EQ(count(b.graph, kTranspose), 2);
}

}  // namespace
}  // namespace octavo
