// Spellings of attention that become one node, and what is almost attention.
#include "ops/attention/attention.h"

#include <limits>
#include <memory>

#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "lower/rules/attention_heads.h"
#include "lower/rules/attention_pattern.h"
#include "lower/rules/cancel_moves.h"
#include "lower/rules/rows_in_order.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class AttentionBuilder : public GraphBuilder {
 public:
  ValueId mul(ValueId a, ValueId b) { return binary(BinaryKind::mul, a, b); }
  ValueId plus(ValueId a, ValueId b) { return binary(BinaryKind::add, a, b); }
  ValueId matmul(ValueId a, ValueId b) { return add(kMatmul, NoAttrs{}, {a, b}); }
  ValueId transpose(ValueId x, Axes perm) { return add(kTranspose, TransposeAttrs{std::move(perm)}, {x}); }
  ValueId reshape(ValueId x, std::vector<Dim> dims) { return add(kReshape, ReshapeAttrs{std::move(dims)}, {x}); }
  ValueId where(ValueId condition, ValueId a, ValueId b) { return add(kWhere, NoAttrs{}, {condition, a, b}); }
  ValueId softmax(ValueId x) { return softmax(x, graph.fact(x).shape.rank() - 1); }
  ValueId softmax(ValueId x, std::int64_t axis) { return add(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, axis}, {x}); }
  ValueId slice(ValueId x, std::int64_t axis, std::int64_t start, std::int64_t size) {
    SliceAttrs attrs{.sizes = graph.fact(x).shape.to_vector()};
    attrs.starts.assign(attrs.sizes.size(), 0);
    attrs.steps.assign(attrs.sizes.size(), 1);
    attrs.starts[static_cast<std::size_t>(axis)] = start;
    attrs.sizes[static_cast<std::size_t>(axis)] = size;
    return add(kSlice, attrs, {x});
  }
  ValueId gather(ValueId x, std::int64_t axis, std::int64_t index) {
    return add(kGather, GatherAttrs{axis}, {x, scalar(index)});
  }
  // True but for every third element, never a whole row of 5.
  ValueId condition(const Shape& shape) {
    Tensor tensor(DType::boolean, shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.as<std::uint8_t>()[i] = i % 3 != 0;
    return graph.add_constant("condition" + std::to_string(graph.value_count()), tensor);
  }
  // [B,T,H*D] to [B,H,T,D].
  ValueId heads(ValueId x, std::int64_t count) {
    const OpenShape shape = graph.fact(x).shape;
    return transpose(reshape(x, {shape[0], shape[1], count, shape[2] / count}), {0, 2, 1, 3});
  }
  ValueId joined(ValueId x) {
    const OpenShape shape = graph.fact(x).shape;
    return reshape(transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
  }

  // q k^T and softmax(scores) v of [2,3,4,8] and [2,3,5,8].
  ValueId q = {}, v = {};
  ValueId product() {
    q = input(DType::f32, {2, 3, 4, 8});
    const ValueId k = input(DType::f32, {2, 3, 5, 8});
    v = input(DType::f32, {2, 3, 5, 6});
    return matmul(q, transpose(k, {0, 1, 3, 2}));
  }
  void finish(ValueId probabilities) { output(matmul(probabilities, v)); }
};

AttentionAttrs attention_of(const Graph& graph) { return first(graph, kAttention).attrs.as<AttentionAttrs>(); }

// Applies the first rule; one attention and no softmax or product stay.
AttentionAttrs expect_fused(AttentionBuilder& b) {
  b.graph.remove_unused();
  EXPECT_EQ(apply_closely(b.graph, attention_pattern), 1) << to_string(b.graph);
  EXPECT_EQ(count(b.graph, kMatmul) + count(b.graph, kSoftmax), 0) << to_string(b.graph);
  return attention_of(b.graph);
}

TEST(AttentionPattern, ScalesWhereverTheyAre) {
  const auto expect_scale = [](float scale, const auto& write) {
    AttentionBuilder b;
    const ValueId q = b.input(DType::f32, {2, 3, 4, 8});
    const ValueId k = b.input(DType::f32, {2, 3, 5, 8});
    b.v = b.input(DType::f32, {2, 3, 5, 6});
    b.finish(b.softmax(write(b, q, k)));
    const AttentionAttrs attrs = expect_fused(b);
    EXPECT_FLOAT_EQ(attrs.scale, scale);
    EXPECT_EQ(attrs.head_size, 8);
    EXPECT_EQ(attrs.value_size, 6);
    EXPECT_EQ(b.graph.node_count(), 1);
  };
  using B = AttentionBuilder;
  const Axes swap = {0, 1, 3, 2};
  expect_scale(1.0f, [&](B& b, ValueId q, ValueId k) { return b.matmul(q, b.transpose(k, swap)); });
  expect_scale(0.5f, [&](B& b, ValueId q, ValueId k) {
    return b.binary(BinaryKind::div, b.matmul(q, b.transpose(k, swap)), b.scalar(2.0f));
  });
  expect_scale(0.35f, [&](B& b, ValueId q, ValueId k) {
    return b.matmul(b.mul(b.scalar(0.7f), q), b.transpose(b.mul(k, b.scalar(0.5f)), swap));
  });
  expect_scale(0.49f, [&](B& b, ValueId q, ValueId k) {
    return b.matmul(b.mul(q, b.scalar(0.7f)), b.mul(b.transpose(k, swap), b.scalar(0.7f)));
  });
}

TEST(AttentionPattern, AFactorForEachHead) {
  AttentionBuilder b;
  const ValueId scaled = b.mul(b.product(), b.random_constant(DType::f32, {3, 1, 1}));
  b.finish(b.softmax(b.plus(scaled, b.input(DType::f32, {2, 1, 1, 5}))));
  EXPECT_FLOAT_EQ(expect_fused(b).scale, 1.0f);
  // Behind a mask, or for each key, it is no factor of the queries.
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{3, 1, 5}}) {
    AttentionBuilder c;
    ValueId scores = c.product();
    if (shape[2] == 1) scores = c.plus(scores, c.input(DType::f32, {2, 1, 1, 5}));
    c.finish(c.softmax(c.mul(scores, c.random_constant(DType::f32, shape))));
    c.graph.remove_unused();
    EXPECT_EQ(apply_closely(c.graph, attention_pattern), 0);
  }
}

TEST(AttentionPattern, KeysTransposedWithTheirHeadsOrNotAtAll) {
  AttentionBuilder b;
  const ValueId q = b.input(DType::f32, {2, 3, 4, 8});
  const ValueId k = b.input(DType::f32, {2, 5, 3, 8});
  b.v = b.input(DType::f32, {2, 3, 5, 6});
  b.finish(b.softmax(b.matmul(q, b.transpose(k, {0, 2, 3, 1}))));
  expect_fused(b);
  EXPECT_EQ(first(b.graph, kTranspose).attrs.as<TransposeAttrs>().perm, (Axes{0, 2, 1, 3}));
  AttentionBuilder c;
  const ValueId rows = c.input(DType::f32, {4, 8});
  c.v = c.input(DType::f32, {5, 6});
  c.finish(c.softmax(c.matmul(rows, c.input(DType::f32, {8, 5}))));
  expect_fused(c);
}

TEST(AttentionPattern, MasksAreAddedInAnyOrder) {
  AttentionBuilder b;
  const ValueId scores = b.plus(b.random_constant(DType::f32, {3, 4, 5}), b.product());
  const ValueId scaled = b.mul(scores, b.scalar(0.25f));
  const ValueId masked = b.binary(BinaryKind::sub, scaled, b.input(DType::f32, {2, 1, 1, 5}));
  b.finish(b.softmax(masked));
  EXPECT_FLOAT_EQ(expect_fused(b).scale, 0.25f);
  EXPECT_EQ(b.graph.fact(first(b.graph, kAttention).inputs[3]).shape, (Shape{2, 3, 1, 4, 5}));
}

TEST(AttentionPattern, ConditionsKeepScores) {
  for (const float fill : {-kInfinity, -3.4028235e38f}) {
    for (const bool is_inverted : {false, true}) {
      for (const bool has_mask : {false, true}) {
        AttentionBuilder b;
        ValueId scores = b.product();
        if (has_mask) scores = b.plus(scores, b.random_constant(DType::f32, {1, 1, 4, 5}));
        ValueId condition = b.condition({2, 1, 4, 5});
        if (is_inverted) condition = b.unary(UnaryKind::logical_not, condition);
        const ValueId c = b.scalar(fill);
        b.finish(b.softmax(is_inverted ? b.where(condition, c, scores) : b.where(condition, scores, c)));
        expect_fused(b);
        const DType mask = b.graph.fact(first(b.graph, kAttention).inputs[3]).dtype;
        EXPECT_EQ(mask, fill == -kInfinity && !has_mask ? DType::boolean : DType::f32);
      }
    }
  }
}

TEST(AttentionPattern, RowsWithoutAKey) {
  // Behind the guard they are zeros on both sides.
  AttentionBuilder b;
  const ValueId kept =
      b.where(b.graph.add_constant("none", Tensor(DType::boolean, {4, 5})), b.scalar(0.0f), b.scalar(-kInfinity));
  const ValueId p = b.softmax(b.plus(b.product(), kept));
  b.finish(b.where(b.unary(UnaryKind::is_nan, p), b.scalar(0.0f), p));
  expect_fused(b);
  EXPECT_EQ(answers(b.graph)[0], Tensor(DType::f32, {2, 3, 4, 6}));
}

TEST(AttentionPattern, LeadingAxesMergedAndSplit) {
  AttentionBuilder b;
  const ValueId q = b.input(DType::f32, {6, 4, 8});
  b.v = b.input(DType::f32, {6, 5, 6});
  const ValueId scores = b.reshape(b.matmul(q, b.input(DType::f32, {6, 8, 5})), {2, 3, 4, 5});
  const ValueId masked = b.plus(scores, b.input(DType::f32, {2, 1, 1, 5}));
  b.finish(b.softmax(b.reshape(masked, {6, 4, 5})));
  expect_fused(b);
  // Windows: a bias for heads, a mask for the windows of an image.
  AttentionBuilder c;
  const ValueId biased = c.plus(c.product(), c.random_constant(DType::f32, {1, 3, 4, 5}));
  const ValueId windows = c.plus(c.reshape(biased, {1, 2, 3, 4, 5}), c.random_constant(DType::f32, {1, 2, 1, 4, 5}));
  c.finish(c.softmax(c.reshape(windows, {2, 3, 4, 5})));
  expect_fused(c);
}

TEST(AttentionPattern, KeysOfOneHeadForAll) {
  AttentionBuilder b;
  const ValueId q = b.input(DType::f32, {2, 3, 4, 8});
  const ValueId k = b.input(DType::f32, {2, 1, 5, 8});
  b.v = b.input(DType::f32, {2, 1, 5, 6});
  b.finish(b.softmax(b.matmul(q, b.transpose(k, {0, 1, 3, 2}))));
  expect_fused(b);
}

TEST(AttentionPattern, SaysWhatKeepsItFromBeingFused) {
  const auto expect_refusal = [](const std::string& reason, const auto& write) {
    AttentionBuilder b;
    const ValueId scores = b.product();
    write(b, scores);
    b.graph.remove_unused();
    EXPECT_EQ(refusal(b.graph, attention_pattern), reason.empty() ? "" : "no attention: " + reason);
  };
  using B = AttentionBuilder;
  expect_refusal("", [](B& b, ValueId scores) { b.finish(b.unary(UnaryKind::sigmoid, scores)); });
  expect_refusal("its softmax is not over the keys, the last axis",
                 [](B& b, ValueId scores) { b.finish(b.softmax(scores, 2)); });
  expect_refusal("its probabilities are read by others too", [](B& b, ValueId scores) {
    const ValueId p = b.softmax(scores);
    b.finish(p);
    b.output(p);
  });
  expect_refusal("its mask writes -10000.000000 into the scores: -inf, or -2^60 and less, is no score; this may be one",
                 [](B& b, ValueId scores) {
                   b.finish(b.softmax(b.where(b.condition({4, 5}), scores, b.scalar(-1e4f))));
                 });
  AttentionBuilder b;
  const ValueId scores = b.product();
  b.finish(b.softmax(b.unary(UnaryKind::tanh, scores)));
  EXPECT_NE(refusal(b.graph, attention_pattern).find("(unary) between the product and the softmax"), std::string::npos);
  AttentionBuilder c;
  const ValueId read = c.product();
  c.finish(c.softmax(read));
  c.output(read);
  EXPECT_NE(refusal(c.graph, attention_pattern).find("its scores are read by others too"), std::string::npos);
}

TEST(AttentionPattern, IslandsTellTheReason) {
  AttentionBuilder b;
  b.finish(b.softmax(b.unary(UnaryKind::tanh, b.product())));
  b.graph.remove_unused();
  const auto report = lower(b.graph, {});
  ASSERT_TRUE(report.ok()) << to_string(report.errors());
  int told = 0;
  for (const Island& island : report->islands)
    told += island.op == "softmax" && island.reason.starts_with(kNoAttention) ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST(AttentionPattern, ProductsOfQuantizedValuesStay) {
  AttentionBuilder b;
  const auto quantized = [&](const Shape& shape) {
    return b.transpose(b.dequantize(b.input(DType::u8, shape), 0x1p-5f, 128), {0, 2, 1});
  };
  const ValueId q = quantized({2, 8, 4});
  const ValueId k = quantized({2, 5, 8});
  b.v = quantized({2, 6, 5});
  const ValueId p = b.softmax(b.matmul(q, k));
  b.finish(p);
  EXPECT_EQ(refusal(b.graph, attention_pattern), "no attention: its operands are quantized: products of integers");
  AttentionBuilder c;
  const ValueId scores = c.product();
  c.finish(c.dequantize(c.quantize(c.softmax(scores), 0x1p-8f, 0), 0x1p-8f, 0));
  EXPECT_EQ(refusal(c.graph, attention_pattern), "");
}

// Both rules and what cleans up behind them; answers before and after agree.
AttentionAttrs expect_simplified(AttentionBuilder& b, int nodes) {
  b.graph.remove_unused();
  const std::vector<Tensor> before = answers(b.graph);
  const auto report = simplify(b.graph);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : to_string(report.errors()));
  const std::vector<Tensor> after = answers(b.graph);
  for (std::int64_t i = 0; i < before[0].elements(); ++i)
    EXPECT_NEAR(before[0].as<float>()[i], after[0].as<float>()[i], 1e-5);
  EXPECT_EQ(count(b.graph, kAttention), 1);
  EXPECT_EQ(b.graph.node_count(), nodes) << to_string(b.graph);
  return attention_of(b.graph);
}

TEST(AttentionHeads, AreColumns) {
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {2, 5, 12});
  const ValueId q = b.heads(b.input(DType::f32, {2, 4, 12}), 3);
  const ValueId k = b.transpose(b.reshape(x, {2, 5, 3, 4}), {0, 2, 3, 1});
  b.v = b.heads(x, 3);
  const ValueId scores = b.mul(b.matmul(b.mul(q, b.scalar(0.5f)), k), b.scalar(0.5f));
  const ValueId masked = b.plus(scores, b.input(DType::f32, {2, 1, 1, 5}));
  b.output(b.joined(b.matmul(b.softmax(masked), b.v)));
  const AttentionAttrs attrs = expect_simplified(b, 1);
  EXPECT_EQ(attrs, (AttentionAttrs{.heads = 3, .kv_heads = 3, .head_size = 4, .value_size = 4, .scale = 0.25f}));
}

TEST(AttentionHeads, ScaleBehindTheReshapeAndKeysOfGroups) {
  AttentionBuilder b;
  const ValueId q = b.heads(b.mul(b.input(DType::f32, {2, 4, 24}), b.scalar(0.25f)), 6);
  const auto repeated = [&](ValueId x) {
    const ValueId expanded = b.add(kExpand, ExpandAttrs{{2, 2, 3, 5, 4}}, {b.reshape(b.heads(x, 2), {2, 2, 1, 5, 4})});
    return b.reshape(expanded, {2, 6, 5, 4});
  };
  const ValueId k = repeated(b.input(DType::f32, {2, 5, 8}));
  b.v = repeated(b.input(DType::f32, {2, 5, 8}));
  b.output(b.joined(b.matmul(b.softmax(b.matmul(q, b.transpose(k, {0, 1, 3, 2}))), b.v)));
  const AttentionAttrs attrs = expect_simplified(b, 1);
  EXPECT_EQ(attrs, (AttentionAttrs{.heads = 6, .kv_heads = 2, .head_size = 4, .value_size = 4, .scale = 0.25f}));
}

TEST(AttentionHeads, QueriesAndKeysThatAreTurnedFirst) {
  // Values lie in columns; queries and keys are computed with heads as an axis, keys for groups of heads.
  AttentionBuilder b;
  const ValueId turn = b.random_constant(DType::f32, {5, 4});
  const ValueId q = b.mul(b.heads(b.input(DType::f32, {2, 5, 24}), 6), turn);
  const auto repeated = [&](ValueId x) {
    const ValueId expanded = b.add(kExpand, ExpandAttrs{{2, 2, 3, 5, 4}}, {b.reshape(x, {2, 2, 1, 5, 4})});
    return b.reshape(expanded, {2, 6, 5, 4});
  };
  const ValueId k = repeated(b.mul(b.heads(b.input(DType::f32, {2, 5, 8}), 2), turn));
  b.v = repeated(b.heads(b.input(DType::f32, {2, 5, 8}), 2));
  b.output(b.joined(b.matmul(b.softmax(b.matmul(q, b.transpose(k, {0, 1, 3, 2}))), b.v)));
  // For q and k each: reshape, transpose, product, transpose, reshape.
  const AttentionAttrs attrs = expect_simplified(b, 11);
  EXPECT_EQ(attrs, (AttentionAttrs{.heads = 6, .kv_heads = 2, .head_size = 4, .value_size = 4}));
}

constexpr AttentionAttrs kPacked{
    .heads = 3, .kv_heads = 3, .head_size = 4, .value_size = 4, .k_first = 12, .v_first = 24};

TEST(AttentionHeads, PackedOnAnAxisThatIsGathered) {
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {2, 5, 36});
  const ValueId packed = b.transpose(b.reshape(x, {2, 5, 3, 3, 4}), {2, 0, 3, 1, 4});
  b.v = b.gather(packed, 0, -1);
  const ValueId scores = b.matmul(b.gather(packed, 0, 0), b.transpose(b.gather(packed, 0, 1), {0, 1, 3, 2}));
  b.output(b.joined(b.matmul(b.softmax(scores), b.v)));
  EXPECT_EQ(expect_simplified(b, 1), kPacked);
}

TEST(AttentionHeads, PackedInColumnsThatAreSliced) {
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {2, 5, 36});
  const ValueId q = b.heads(b.slice(x, 2, 0, 12), 3);
  b.v = b.heads(b.slice(x, 2, 24, 12), 3);
  const ValueId scores = b.matmul(q, b.transpose(b.heads(b.slice(x, 2, 12, 12), 3), {0, 1, 3, 2}));
  b.output(b.joined(b.matmul(b.softmax(scores), b.v)));
  EXPECT_EQ(expect_simplified(b, 1), kPacked);
}

TEST(AttentionHeads, TimeFirstIsTransposedOnce) {
  // torch.nn.MultiheadAttention, [T, B, columns] inside.
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {5, 2, 36});
  const ValueId split = b.reshape(b.transpose(b.reshape(x, {5, 2, 3, 12}), {2, 0, 1, 3}), {3, 5, 2, 12});
  const auto heads = [&](std::int64_t index) {
    const ValueId one = b.reshape(b.gather(split, 0, index), {5, 6, 4});
    return b.reshape(b.transpose(one, {1, 0, 2}), {2, 3, 5, 4});
  };
  b.v = heads(2);
  const ValueId y = b.matmul(b.softmax(b.matmul(heads(0), b.transpose(heads(1), {0, 1, 3, 2}))), b.v);
  b.output(b.reshape(b.transpose(y, {2, 0, 1, 3}), {10, 12}));
  // A transpose to [B, T, columns], attention, and back, between reshapes.
  EXPECT_EQ(expect_simplified(b, 5), kPacked);
}

TEST(AttentionHeads, SlicesOfColumnsAreNotCut) {
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {2, 5, 36});
  const AttentionAttrs attrs{.heads = 3, .kv_heads = 3, .head_size = 4, .value_size = 4};
  const ValueId q = b.mul(b.slice(x, 2, 0, 12), b.scalar(0.5f));
  b.output(b.add(kAttention, attrs, {q, b.slice(x, 2, 12, 12), b.slice(x, 2, 24, 12)}));
  AttentionAttrs expected = kPacked;
  expected.scale = 0.5f;
  EXPECT_EQ(expect_simplified(b, 1), expected);
}

TEST(AttentionHeads, OfAnOpenBatch) {
  // The same with an open batch, and back to rows through a product.
  AttentionBuilder b;
  b.graph.set_sizes(std::make_shared<Sizes>());
  const Dim n = b.graph.sizes()->add({.name = "n"}, 3);
  const ValueId x = b.transpose(b.graph.add_input("x", DType::f32, OpenShape{n, 5, 8}), {1, 0, 2});
  const ValueId qkv = b.matmul(x, b.random_constant(DType::f32, {8, 36}));
  const ValueId split = b.transpose(b.reshape(qkv, {5, n, 3, 12}), {2, 0, 1, 3});
  const auto heads = [&](std::int64_t index) {
    const ValueId one = b.reshape(b.gather(split, 0, index), {5, n * 3, 4});
    return b.reshape(b.transpose(one, {1, 0, 2}), {n, 3, 5, 4});
  };
  b.v = heads(2);
  const ValueId y = b.matmul(b.softmax(b.matmul(heads(0), b.transpose(heads(1), {0, 1, 3, 2}))), b.v);
  const ValueId rows = b.reshape(b.transpose(y, {2, 0, 1, 3}), {n * 5, 12});
  const ValueId product = b.matmul(rows, b.random_constant(DType::f32, {12, 8}));
  b.output(b.transpose(b.reshape(product, {5, n, 8}), {1, 0, 2}));
  const auto report = simplify(b.graph);
  ASSERT_TRUE(report.ok()) << to_string(report.errors());
  EXPECT_EQ(b.graph.node_count(), 3) << to_string(b.graph);  // a product, attention, a product
  EXPECT_EQ(attention_of(b.graph), kPacked);
  EXPECT_TRUE(b.graph.sizes()->conditions().empty());
}

TEST(AttentionHeads, InterleavedPartsAreNotColumnsOfHeads) {
  // [heads, 3, size]: head h of q begins at h * 3 * size.
  AttentionBuilder b;
  const ValueId packed = b.reshape(b.input(DType::f32, {2, 5, 36}), {2, 5, 3, 3, 4});
  const auto part = [&](std::int64_t index) { return b.transpose(b.gather(packed, 3, index), {0, 2, 1, 3}); };
  b.v = part(2);
  b.output(b.joined(b.matmul(b.softmax(b.matmul(part(0), b.transpose(part(1), {0, 1, 3, 2}))), b.v)));
  b.graph.remove_unused();
  EXPECT_EQ(apply_closely(b.graph, attention_pattern), 1);
  EXPECT_EQ(apply_closely(b.graph, attention_heads), 0);
}

TEST(AttentionHeads, WindowsWithMasksOfTheirOwn) {
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {4, 5, 36});
  const ValueId packed = b.transpose(b.reshape(x, {4, 5, 3, 3, 4}), {2, 0, 3, 1, 4});
  b.v = b.gather(packed, 0, 2);
  const ValueId scores =
      b.matmul(b.mul(b.gather(packed, 0, 0), b.scalar(0.5f)), b.transpose(b.gather(packed, 0, 1), {0, 1, 3, 2}));
  const ValueId biased = b.plus(scores, b.random_constant(DType::f32, {1, 3, 5, 5}));
  const ValueId windows = b.plus(b.reshape(biased, {2, 2, 3, 5, 5}), b.random_constant(DType::f32, {1, 2, 1, 5, 5}));
  b.output(b.joined(b.matmul(b.softmax(b.reshape(windows, {4, 3, 5, 5})), b.v)));
  AttentionAttrs expected = kPacked;
  expected.scale = 0.5f;
  EXPECT_EQ(expect_simplified(b, 3), expected);  // reshapes around it
}

TEST(CancelMoves, OnlyWhatEndsWhereItBegan) {
  AttentionBuilder b;
  const ValueId x = b.input(DType::f32, {2, 3, 4, 5});
  const ValueId merged = b.reshape(b.transpose(x, {0, 2, 1, 3}), {8, 3, 5});
  b.output(b.reshape(b.transpose(b.reshape(merged, {2, 4, 3, 5}), {0, 2, 1, 3}), {6, 20}));
  EXPECT_GE(apply_exactly(b.graph, cancel_moves), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  AttentionBuilder c;
  const ValueId y = c.input(DType::f32, {2, 3, 4, 5});
  c.output(c.transpose(c.reshape(c.transpose(y, {0, 2, 1, 3}), {2, 4, 3, 5}), {0, 3, 1, 2}));
  EXPECT_EQ(refusal(c.graph, cancel_moves), "");
}

TEST(RowsInOrder, ThroughProductsAndSums) {
  AttentionBuilder b;
  const ValueId x = b.transpose(b.input(DType::f32, {2, 5, 4}), {1, 0, 2});
  const ValueId product = b.matmul(b.reshape(x, {10, 4}), b.random_constant(DType::f32, {4, 6}));
  const ValueId biased = b.reshape(b.plus(b.random_constant(DType::f32, {6}), product), {5, 2, 6});
  b.output(b.transpose(b.unary(UnaryKind::relu, biased), {1, 0, 2}));
  EXPECT_EQ(apply_closely(b.graph, rows_in_order), 1);
  EXPECT_EQ(count(b.graph, kTranspose), 0);
  EXPECT_EQ(count(b.graph, kReshape), 1);
}

TEST(RowsInOrder, RowsThatMoveAndColumnsThatAreCutStay) {
  AttentionBuilder b;
  const ValueId x = b.transpose(b.input(DType::f32, {2, 5, 4}), {1, 0, 2});
  const ValueId product = b.matmul(x, b.random_constant(DType::f32, {4, 6}));
  b.output(b.reshape(product, {10, 6}));
  EXPECT_EQ(refusal(b.graph, rows_in_order), "");
  AttentionBuilder c;
  const ValueId columns = c.transpose(c.input(DType::f32, {2, 5, 4}), {0, 2, 1});
  c.output(c.transpose(c.matmul(columns, c.random_constant(DType::f32, {5, 5})), {0, 2, 1}));
  EXPECT_EQ(refusal(c.graph, rows_in_order), "");
}

}  // namespace
}  // namespace octavo
