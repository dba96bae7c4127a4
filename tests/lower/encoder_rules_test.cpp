// What attention networks are made of in integers: normalisations, s16 residual streams, attention.
#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "lower/relabel.h"
#include "lower/rules/addition_before_reshape.h"
#include "lower/rules/fold_constants.h"
#include "lower/rules/fuse_attention.h"
#include "lower/rules/fuse_convolution.h"
#include "lower/rules/fuse_layer_norm.h"
#include "lower/rules/fuse_rescale.h"
#include "lower/rules/fuse_table.h"
#include "ops/attention/attention.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/quantized_attention/quantized_attention.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"
#include "ops/reshape/reshape.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

ValueId layer_norm(GraphBuilder& b, ValueId x, std::int64_t axis, std::int64_t channels) {
  return b.add(kLayerNorm, LayerNormAttrs{axis, 1e-3f},
               {x, b.random_constant(DType::f32, {channels}, 3), b.random_constant(DType::f32, {channels}, 4)});
}

TEST(FuseLayerNorm, OneForEachQuantize) {
  for (const DType from : {DType::u8, DType::s8, DType::s16}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(from, {2, 3, 24}), 0x1p-6f, from == DType::s16 ? 0 : 20);
    const ValueId y = layer_norm(b, x, 2, 24);
    b.output(b.quantize(y, 0x1p-7f, 128));
    b.output(b.quantize(y, 0x1p-12f, 0, DType::s16));
    // In float the mean and the quotient are rounded elsewhere: a value may round to its neighbour.
    EXPECT_EQ(apply_closely(b.graph, fuse_layer_norm, 0.6), 2);
    EXPECT_EQ(count(b.graph, kQuantizedLayerNorm), 2);
    EXPECT_EQ(b.graph.node_count(), 2);
  }
}

TEST(FuseLayerNorm, GivesF32ToOthers) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::s16, {5, 8}), 0x1p-6f, 0);
  b.output(b.unary(UnaryKind::neg, layer_norm(b, x, 1, 8)));
  EXPECT_EQ(apply_closely(b.graph, layer_norm_to_f32), 1);
  EXPECT_EQ(count(b.graph, kQuantizedLayerNorm), 1);
}

TEST(FuseLayerNorm, Refusals) {
  GraphBuilder b;
  b.output(b.quantize(layer_norm(b, b.input(DType::f32, {5, 8}), 1, 8), 0x1p-6f, 0));
  EXPECT_EQ(refusal(b.graph, fuse_layer_norm), "its input is not quantized");
  GraphBuilder c;
  const ValueId x = c.dequantize(c.input(DType::u8, {2, 5, 8}), 0x1p-6f, 0);
  c.output(
      c.quantize(c.add(kLayerNorm, LayerNormAttrs{1, 1e-3f}, {x, c.random_constant(DType::f32, {5, 8})}), 0x1p-6f, 0));
  EXPECT_EQ(refusal(c.graph, fuse_layer_norm), "it is over more than the last axis");
}

TEST(FuseRescale, S16ToBytes) {
  for (const DType to : {DType::u8, DType::s8}) {
    GraphBuilder b;
    b.output(b.quantize(b.dequantize(b.input(DType::s16, {7, 9}), 0x1p-9f, 0), 0x1p-7f, 3, to));
    EXPECT_EQ(apply_exactly(b.graph, fuse_rescale), 1);
    EXPECT_EQ(b.graph.node_count(), 1);
  }
  for (const float scale : {0x1p-9f, 0x1p-8f}) {
    GraphBuilder b;
    const ValueId same = b.quantize(b.dequantize(b.input(DType::s16, {7, 9}), 0x1p-9f, 0), scale, 0, DType::s16);
    b.output(b.quantize(b.dequantize(same, scale, 0), 0x1p-7f, 3));
    EXPECT_EQ(apply_exactly(b.graph, fuse_rescale), 1 + (scale == 0x1p-9f ? 1 : 0));
  }
  GraphBuilder c;  // bytes have tables
  c.output(c.quantize(c.dequantize(c.input(DType::u8, {7, 9}), 0x1p-9f, 0), 0x1p-7f, 3));
  EXPECT_EQ(refusal(c.graph, fuse_rescale), "");
}

// A product of rows, its reshape, and an addition to a stream of s16 behind it.
Graph residual_block() {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {6, 1, 1, 8}), 0x1p-6f, 90);
  const ValueId stream = b.dequantize(b.input(DType::s16, {2, 3, 16}), 0x1p-10f, 0);
  const ValueId product = b.conv(x, b.weights({16, 1, 1, 8}), {1, 1}, Layout::channels_last);
  const ValueId back = b.add(kReshape, ReshapeAttrs{{2, 3, 16}}, {product});
  b.output(b.quantize(b.binary(BinaryKind::add, back, stream), 0x1p-10f, 0, DType::s16));
  return std::move(b.graph);
}

TEST(AdditionBeforeReshape, MovesTheReshapeBehindIt) {
  Graph graph = residual_block();
  EXPECT_EQ(apply_exactly(graph, addition_before_reshape), 1);
  EXPECT_NE(graph.producer_if(first(graph, kBinary).inputs[0], kConv), nullptr);
}

TEST(AdditionBeforeReshape, LeavesAProductThatOthersRead) {
  Graph graph = residual_block();
  graph.add_output(first(graph, kReshape).outputs[0], "also");
  EXPECT_EQ(refusal(graph, addition_before_reshape), "");
}

// Products end in s16 and take the stream in: with nothing in float.
TEST(Encoder, ResidualStreamsStayIntegers) {
  Graph graph = residual_block();
  const std::vector<Tensor> before = answers(graph);
  const auto report = lower(graph, {});
  ASSERT_TRUE(report.ok()) << to_string(report.errors());
  EXPECT_EQ(answers(graph), before);
  EXPECT_EQ(count(graph, kQuantizedConv), 1);
  EXPECT_EQ(count(graph, kDequantize) + count(graph, kQuantize), 0) << to_string(graph);
  const Epilogue& epilogue = first(graph, kQuantizedConv).attrs.as<QuantizedConvAttrs>().epilogue;
  EXPECT_NE(epilogue.find<ScaleAndAdd>(), nullptr);
  EXPECT_EQ(epilogue.to, DType::s16);
}

TEST(FuseTable, ViewsStandBehindTables) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {6, 1, 1, 8}), 0x1p-6f, 90);
  const ValueId q = b.quantize(b.conv(x, b.weights({16, 1, 1, 8}), {1, 1}, Layout::channels_last), 0x1p-5f, 100);
  const ValueId view = b.add(kReshape, ReshapeAttrs{{2, 3, 16}}, {q});
  b.output(b.add(kTable, NoAttrs{}, {view, b.random_constant(DType::u8, {256})}));
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(apply_exactly(b.graph, table_before_view), 1);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
  EXPECT_EQ(count(b.graph, kTable), 0);
}

struct Attention {
  Graph graph;
  explicit Attention(bool has_mask, bool is_quantized = true, Profile profile = Profile::onnx) {
    GraphBuilder b;
    const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 4, .value_size = 4, .scale = 0.5f};
    std::vector<ValueId> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(b.dequantize(b.input(DType::u8, {2, 9, 8}), 0x1p-6f, 100 + i));
    if (has_mask) inputs.push_back(b.input(DType::f32, {2, 1, 1, 9}));
    const ValueId y = b.add(kAttention, attrs, inputs);
    const QuantizeAttrs quantize{.profile = profile};
    b.output(is_quantized ? b.add(kQuantize, quantize, {y, b.scalar(0x1p-6f), b.zero_point(DType::u8, 128)}) : y);
    graph = std::move(b.graph);
  }
};

// Weights have 8 bits: of values within 2 the error is below 2 / 255, here less than one step.
TEST(FuseAttention, WithAndWithoutMask) {
  for (const bool has_mask : {false, true}) {
    Attention test(has_mask);
    const std::vector<Tensor> before = answers(test.graph);
    EXPECT_EQ(rewrite(test.graph, "rule", fuse_attention).applied(), 1);
    EXPECT_EQ(count(test.graph, kQuantizedAttention), 1);
    const std::vector<Tensor> after = answers(test.graph);
    for (std::int64_t i = 0; i < before[0].elements(); ++i)
      EXPECT_NEAR(before[0].as<std::uint8_t>()[i], after[0].as<std::uint8_t>()[i], 1);
  }
}

// A program of torch.export has attention in floats between its pairs, unless somebody asks for bytes.
TEST(FuseAttention, FloatsOfAFileStayFloats) {
  for (const bool asked : {false, true}) {
    for (const Profile profile : {Profile::onnx, Profile::pt2e}) {
      Attention test(false, true, profile);
      const std::vector<Tensor> before = answers(test.graph);
      const auto report = lower(test.graph, {.floats_of_file_in_bytes = asked});
      ASSERT_TRUE(report.ok());
      const bool is_float = profile == Profile::pt2e && !asked;
      EXPECT_EQ(count(test.graph, kQuantizedAttention), is_float ? 0 : 1);
      EXPECT_EQ(report->islands.size(), is_float ? 1u : 0u);
      if (!is_float) continue;
      EXPECT_EQ(answers(test.graph), before);
      EXPECT_EQ(report->islands[0].reason, "the file computes it in floats; --precision int8 computes it in bytes");
    }
  }
}

// No kernel of attention has one.
TEST(FuseAttention, TakesUpNoTable) {
  GraphBuilder b;
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 4, .value_size = 4, .scale = 0.5f};
  std::vector<ValueId> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(b.dequantize(b.input(DType::u8, {2, 9, 8}), 0x1p-6f, 100 + i));
  const ValueId seen = b.dequantize(b.quantize(b.add(kAttention, attrs, inputs), 0x1p-6f, 128), 0x1p-6f, 128);
  b.output(b.quantize(b.unary(UnaryKind::hard_swish, seen), 0x1p-6f, 60));
  ASSERT_TRUE(lower(b.graph, {}).ok());
  EXPECT_EQ(count(b.graph, kTable), 1);
  const Epilogue& epilogue = first(b.graph, kQuantizedAttention).attrs.as<QuantizedAttentionAttrs>().epilogue;
  EXPECT_EQ(epilogue.find<Lookup>(), nullptr);
}

TEST(FuseAttention, NeedsAQuantizedResult) {
  EXPECT_EQ(refusal(Attention(false, false).graph, fuse_attention), "its f32 result is an output of the graph");
}

// What depends on an open size is no constant yet: neither folding nor relabelling may fix it to the example.
TEST(OpenExtents, StayOpen) {
  GraphBuilder b;
  auto sizes = std::make_shared<Sizes>();
  const Dim length = sizes->add({"s", {1, 512}}, 48);
  b.graph.set_sizes(sizes);
  const ValueId extent = b.graph.add_extents("length", DType::s64, Shape{1}, {length});
  const ValueId doubled = b.binary(BinaryKind::mul, extent, b.constant<std::int64_t>({1}, {2}));
  b.output(b.binary(BinaryKind::mul, b.input(DType::s64, {3}), doubled));
  EXPECT_EQ(rewrite(b.graph, "fold", fold_all_constants).applied(), 0);
  ASSERT_TRUE(relabel_signed(b.graph).ok());
  int open = 0;
  for (int i = 0; i < b.graph.value_count(); ++i) open += b.graph.fact({i}).extents != nullptr ? 1 : 0;
  EXPECT_EQ(open, 1);
}

}  // namespace
}  // namespace octavo
