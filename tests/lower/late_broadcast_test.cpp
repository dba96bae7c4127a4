// Masks that exporters repeat before they are computed with.
#include "lower/rules/late_broadcast.h"

#include "lower/graph_builder.h"
#include "ops/attention/attention.h"
#include "ops/cumsum/cumsum.h"
#include "ops/expand/expand.h"
#include "ops/reshape/reshape.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

Match all_rules(const Graph& graph, const Node& node) {
  for (const auto rule : {settle_comparison, drop_true, expand_later, mask_before_expand}) {
    Match match = rule(graph, node);
    if (std::holds_alternative<Patch>(match)) return match;
  }
  return std::string();
}

struct MaskBuilder : GraphBuilder {
  // 0, 1, 2 ... as exporters count.
  ValueId positions(std::int64_t count, std::int64_t step = 1) {
    const ValueId steps = add(kExpand, ExpandAttrs{{count}}, {scalar<std::int64_t>(step)});
    return reshape(add(kCumsum, CumsumAttrs{.axis = 0, .exclusive = true}, {steps}), {1, 1, count, 1});
  }
  ValueId reshape(ValueId x, std::vector<Dim> shape) { return add(kReshape, ReshapeAttrs{std::move(shape)}, {x}); }
  ValueId chosen(ValueId condition, float otherwise) {
    return add(kWhere, NoAttrs{}, {condition, scalar(0.0f), scalar(otherwise)});
  }
};

// [images, 1, queries, keys], of which only [images, 1, 1, keys] was ever different.
TEST(LateBroadcast, AMaskOfKeysWrittenForAllQueries) {
  MaskBuilder b;
  const ValueId keys = b.input(DType::boolean, {2, 1, 1, 5});
  const ValueId is_position = b.binary(BinaryKind::greater_or_equal, b.positions(4), b.scalar<std::int64_t>(0));
  const ValueId mask = b.chosen(b.binary(BinaryKind::logical_and, is_position, keys), -1e4f);
  const ValueId q = b.input(DType::f32, {2, 4, 6}), k = b.input(DType::f32, {2, 5, 6}),
                v = b.input(DType::f32, {2, 5, 6});
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 2, .head_size = 3, .value_size = 3};
  b.output(b.add(kAttention, attrs, {q, k, v, mask}));
  EXPECT_GT(apply_exactly(b.graph, all_rules), 3);
  EXPECT_EQ(b.graph.node_count(), 2) << to_string(b.graph);
  EXPECT_EQ(b.graph.fact(first(b.graph, kAttention).inputs[kAttentionMask]).shape, (OpenShape{2, 1, 1, 5}));
}

TEST(LateBroadcast, FunctionsOfSingleElements) {
  MaskBuilder b;
  const ValueId repeated = b.add(kExpand, ExpandAttrs{{3, 4, 5}}, {b.input(DType::f32, {1, 5})});
  b.output(b.unary(UnaryKind::neg, b.binary(BinaryKind::sub, b.scalar(1.0f), repeated)));
  EXPECT_EQ(apply_exactly(b.graph, expand_later), 2);
  EXPECT_EQ(b.graph.producer(b.graph.outputs()[0])->spec, &kExpand);
}

TEST(LateBroadcast, WhatMayBeFalseStays) {
  const auto is_settled = [](auto make) {
    MaskBuilder b;
    b.output(make(b));
    return std::holds_alternative<Patch>(settle_comparison(b.graph, *b.graph.producer(b.graph.outputs()[0])));
  };
  const auto compare = [](MaskBuilder& b, BinaryKind kind, ValueId x, std::int64_t y) {
    return b.binary(kind, x, b.scalar<std::int64_t>(y));
  };
  EXPECT_TRUE(is_settled([&](auto& b) { return compare(b, BinaryKind::greater_or_equal, b.positions(4), -3); }));
  EXPECT_FALSE(is_settled([&](auto& b) { return compare(b, BinaryKind::greater_or_equal, b.positions(4), 1); }));
  EXPECT_FALSE(is_settled([&](auto& b) { return compare(b, BinaryKind::greater_or_equal, b.positions(4, -1), 0); }));
  EXPECT_FALSE(is_settled([&](auto& b) { return compare(b, BinaryKind::greater, b.positions(4), 0); }));
  EXPECT_FALSE(is_settled([&](auto& b) { return compare(b, BinaryKind::less_or_equal, b.positions(4), 0); }));
  EXPECT_FALSE(
      is_settled([&](auto& b) { return compare(b, BinaryKind::greater_or_equal, b.input(DType::s64, {4}), 0); }));
}

TEST(LateBroadcast, TwoThatAreRepeatedDifferentlyStay) {
  MaskBuilder b;
  const ValueId rows = b.add(kExpand, ExpandAttrs{{4, 5}}, {b.input(DType::f32, {4, 1})});
  b.output(b.binary(BinaryKind::add, rows, b.input(DType::f32, {1, 5})));
  EXPECT_EQ(apply_exactly(b.graph, all_rules), 0);
}

}  // namespace
}  // namespace octavo
