// Operators that only move elements leave the room between dequantize and quantize.
#include "lower/graph_builder.h"
#include "lower/merge_duplicates.h"
#include "lower/rules/drop_identity.h"
#include "lower/rules/fold_constants.h"
#include "lower/rules/split_concat.h"
#include "lower/rules/structure_on_integers.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

TEST(Structure, MovesBeforeDequantize) {
  GraphBuilder b;
  ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 6, 2}), 0.1f, 7);
  x = b.add(kMaxPool, MaxPoolAttrs{unit_window({2, 2}), Rounding::floor, Layout::channels_last}, {x});
  x = b.add(kPad, PadAttrs{PadMode::constant, {0, 1, 1, 0}, {0, 1, 1, 0}}, {x});
  x = b.add(kResize, ResizeAttrs{.sizes = {1, 10, 14, 2}, .scales = {1, 2, 2, 1}}, {x});
  x = b.add(kTranspose, TransposeAttrs{{0, 3, 1, 2}}, {x});
  x = b.add(kSlice, SliceAttrs{{0, 1, 0, 3}, {1, 1, 2, 1}, {1, 1, 5, 4}}, {x});
  x = b.add(kGather, GatherAttrs{2}, {x, b.constant<std::int64_t>({2}, {1, 3})});
  x = b.add(kReduce, ReduceAttrs{ReduceKind::max, {3}, true}, {x});
  b.output(b.add(kReshape, ReshapeAttrs{{2}}, {x}));
  EXPECT_EQ(apply_exactly(b.graph, structure_before_dequantize), 8);
  EXPECT_EQ(b.graph.node(b.graph.order().back()).spec, &kDequantize);
  EXPECT_EQ(count(b.graph, kDequantize), 1);
}

TEST(Structure, PaddingWithAValueInBetweenStays) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {4}), 0.1f, 7);
  b.output(b.add(kPad, PadAttrs{PadMode::constant, {1}, {1}}, {x, b.scalar(0.25f)}));
  EXPECT_EQ(refusal(b.graph, structure_before_dequantize), "the value it pads with is none of the quantized ones");
}

TEST(Structure, ConcatenationOfOneScaleOnly) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {2, 3}), 0.1f, 7);
  const ValueId y = b.dequantize(b.input(DType::u8, {2, 3}), 0.1f, 7);
  b.output(b.add(kConcat, ConcatAttrs{1}, {x, y}));
  EXPECT_EQ(apply_exactly(b.graph, structure_before_dequantize), 1);
  GraphBuilder c;
  const ValueId u = c.dequantize(c.input(DType::u8, {2, 3}), 0.1f, 7);
  const ValueId v = c.dequantize(c.input(DType::u8, {2, 3}), 0.1f, 8);
  c.output(c.add(kConcat, ConcatAttrs{1}, {u, v}));
  EXPECT_EQ(refusal(c.graph, structure_before_dequantize), "its inputs have different scales");
}

TEST(Structure, MovesAfterQuantize) {
  GraphBuilder b;
  ValueId x = b.add(kMatmul, NoAttrs{}, {b.input(DType::f32, {3, 4}), b.random_constant(DType::f32, {4, 6})});
  x = b.add(kReshape, ReshapeAttrs{{3, 3, 2}}, {x});
  x = b.add(kPad, PadAttrs{PadMode::constant, {0, 0, 1}, {0, 0, 0}}, {x, b.scalar(0.3f)});
  b.output(b.quantize(x, 0.02f, 100));
  EXPECT_EQ(apply_exactly(b.graph, structure_after_quantize), 2);
  EXPECT_EQ(b.graph.fact(first(b.graph, kPad).outputs[0]).dtype, DType::u8);
  EXPECT_EQ(b.graph.node(b.graph.order()[1]).spec, &kQuantize);
}

TEST(Structure, MovesAfterDequantizeForFloats) {
  GraphBuilder b;
  const ValueId x = b.quantize(b.input(DType::f32, {1, 4, 4, 2}), 0.02f, 100);
  const ValueId y = b.add(kMaxPool, MaxPoolAttrs{unit_window({2, 2}), Rounding::floor, Layout::channels_last}, {x});
  b.output(b.dequantize(b.add(kConcat, ConcatAttrs{3}, {y, y}), 0.02f, 100));
  EXPECT_EQ(apply_exactly(b.graph, structure_after_dequantize), 2);
  EXPECT_EQ(b.graph.fact(first(b.graph, kMaxPool).outputs[0]).dtype, DType::f32);
}

TEST(Structure, ScalesPerAxisFollowTheirAxis) {
  GraphBuilder b;
  const ValueId w = b.weights({4, 3});
  b.output(b.binary(BinaryKind::add, b.input(DType::f32, {3, 4}), b.add(kTranspose, TransposeAttrs{{1, 0}}, {w})));
  EXPECT_EQ(apply_exactly(b.graph, structure_before_dequantize), 1);
  EXPECT_EQ(first(b.graph, kDequantize).attrs.as<DequantizeAttrs>().axis, 1);
}

TEST(BeforeConcat, EachBranchIsQuantizedByItself) {
  GraphBuilder b;
  const ValueId joined = b.add(kConcat, ConcatAttrs{1}, {b.input(DType::f32, {2, 3}), b.input(DType::f32, {2, 5})});
  b.output(b.quantize(b.unary(UnaryKind::relu, joined), 0.02f, 100));
  EXPECT_EQ(apply_exactly(b.graph, before_concat), 2);
  EXPECT_EQ(count(b.graph, kQuantize), 2);
  EXPECT_EQ(b.graph.node(b.graph.order().back()).spec, &kConcat);
}

TEST(DropIdentity, ManyKinds) {
  GraphBuilder b;
  ValueId x = b.unary(UnaryKind::relu, b.input(DType::f32, {1, 2, 3, 4}));
  x = b.unary(UnaryKind::identity, x);
  x = b.add(kReshape, ReshapeAttrs{{1, 2, 3, 4}}, {x});
  x = b.add(kSlice, SliceAttrs{{0, 0, 0, 0}, {1, 1, 1, 1}, {1, 2, 3, 4}}, {x});
  x = b.add(kTranspose, TransposeAttrs{{0, 2, 3, 1}}, {x});
  x = b.add(kTranspose, TransposeAttrs{{0, 3, 1, 2}}, {x});
  x = b.add(kMaxPool, MaxPoolAttrs{unit_window({1, 1}), Rounding::floor, Layout::channels_first}, {x});
  x = b.add(kConcat, ConcatAttrs{0}, {x});
  x = b.add(kReshape, ReshapeAttrs{{4, 6}}, {x});
  b.output(b.add(kReshape, ReshapeAttrs{{24}}, {x}));
  apply_exactly(b.graph, drop_identity);
  EXPECT_EQ(b.graph.node_count(), 2) << to_string(b.graph);
}

TEST(DropIdentity, AnOutputKeepsANodeOfItsOwn) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {2});
  const ValueId y = b.unary(UnaryKind::relu, x);
  b.output(b.unary(UnaryKind::identity, x));
  b.output(y);
  b.output(b.unary(UnaryKind::identity, y));
  EXPECT_EQ(apply_exactly(b.graph, drop_identity), 0);
}

TEST(FoldConstants, LeavesDequantizeToTheRules) {
  GraphBuilder b;
  const ValueId shape_of_two = b.binary(BinaryKind::add, b.scalar(1.5f), b.scalar(2.0f));
  const ValueId w = b.dequantize(b.constant<std::int8_t>({2}, {3, 4}), 0.5f, 0);
  b.output(b.binary(BinaryKind::add, b.binary(BinaryKind::mul, b.input(DType::f32, {2}), shape_of_two), w));
  EXPECT_EQ(apply_exactly(b.graph, fold_constants), 1);
  EXPECT_EQ(count(b.graph, kDequantize), 1);
  EXPECT_EQ(apply_exactly(b.graph, fold_all_constants), 1);
  EXPECT_EQ(count(b.graph, kDequantize), 0);
}

TEST(MergeDuplicates, OneQuantizeForAllReaders) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {8});
  b.output(b.unary(UnaryKind::relu, b.dequantize(b.quantize(x, 0.02f, 100), 0.02f, 100)));
  b.output(b.unary(UnaryKind::neg, b.dequantize(b.quantize(x, 0.02f, 100), 0.02f, 100)));
  b.output(b.unary(UnaryKind::neg, b.dequantize(b.quantize(x, 0.03f, 100), 0.02f, 100)));
  const std::vector<Tensor> before = answers(b.graph);
  EXPECT_EQ(merge_duplicates(b.graph).applied(), 2);
  EXPECT_TRUE(verify(b.graph).ok());
  EXPECT_EQ(answers(b.graph), before);
  EXPECT_EQ(count(b.graph, kQuantize), 2);
}

// Each sum fuses with its own quantize; merged, their one real result would have two readers.
TEST(MergeDuplicates, NotWhatIsQuantizedDifferently) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0.02f, 100);
  for (const float scale : {0.03f, 0.04f, 0.04f}) {
    const ValueId mean = b.add(kReduce, ReduceAttrs{ReduceKind::mean, {1, 2}, true}, {x});
    b.output(b.add(kMaxPool, MaxPoolAttrs{unit_window({1, 1}), Rounding::floor, Layout::channels_last},
                   {b.quantize(b.unary(UnaryKind::relu, mean), scale, 100)}));
  }
  const std::vector<Tensor> before = answers(b.graph);
  EXPECT_EQ(merge_duplicates(b.graph).applied(), 1);  // mean, relu and quantize of the last, as one
  EXPECT_EQ(answers(b.graph), before);
  EXPECT_EQ(count(b.graph, kReduce), 2);
  EXPECT_EQ(count(b.graph, kQuantize), 2);
}

// One scale, but a clamp before it or none, or one that changes no byte: what each fuses with is its own.
TEST(MergeDuplicates, NotWhatIsClampedDifferently) {
  for (const int zero : {100, 0}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0.02f, 100);
    for (const bool is_clamped : {false, true}) {
      const ValueId mean = b.add(kReduce, ReduceAttrs{ReduceKind::mean, {1, 2}, true}, {x});
      const ValueId y = b.quantize(is_clamped ? b.unary(UnaryKind::relu, mean) : mean, 0.02f, zero);
      b.output(b.add(kMaxPool, MaxPoolAttrs{unit_window({1, 1}), Rounding::floor, Layout::channels_last}, {y}));
    }
    const std::vector<Tensor> before = answers(b.graph);
    merge_duplicates(b.graph);
    EXPECT_EQ(answers(b.graph), before);
    for (const NodeId id : b.graph.order()) {
      const Node& node = b.graph.node(id);
      EXPECT_TRUE(node.spec != &kReduce || b.graph.has_one_reader(node.outputs[0])) << to_string(b.graph);
    }
  }
}

}  // namespace
}  // namespace octavo
