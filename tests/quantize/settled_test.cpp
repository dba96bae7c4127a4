// What samples do not decide: masks stay in f32, and what sizes alone decide has its range from them.
#include "quantize/settled.h"

#include <gtest/gtest.h>

#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "quantize/placement.h"

namespace octavo {
namespace {

constexpr std::int64_t kSettledTokens = 4, kSettledWidth = 8;

// A mask of keys and a bias of positions, added up, beside attention of x with itself.
struct Masked {
  Graph graph;
  ValueId sum;

  Masked() {
    const ValueId x = graph.add_input("x", DType::f32, Shape{1, kSettledTokens, kSettledWidth});
    const ValueId keys = graph.add_input("keys", DType::f32, Shape{1, 1, 1, kSettledTokens});
    const ValueId bias = graph.add_constant("bias", Tensor(DType::f32, {1, 2, kSettledTokens, kSettledTokens}));
    sum = add(kBinary, BinaryAttrs{BinaryKind::add}, {keys, bias}, "sum");
    const AttentionAttrs heads{.heads = 2, .kv_heads = 2, .head_size = 4, .value_size = 4};
    graph.add_output(add(kAttention, heads, {x, x, x, sum}, "attention"), "y");
  }
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    const auto made = graph.add(spec, std::move(attrs), std::move(inputs), name);
    EXPECT_TRUE(made) << to_string(made.errors());
    return made ? *made : ValueId{};
  }
  const NodeRole& role(const Placement& placement) const { return placement.role(graph.value(sum).producer); }
};

TEST(Settled, MasksStayInFloat) {
  Masked masked;
  const Placement placement = place_pairs(masked.graph, {});
  EXPECT_EQ(masked.role(placement).role, Role::floating);
  EXPECT_FALSE(placement.pair(masked.sum));
  EXPECT_FALSE(placement.pair(masked.graph.inputs()[1]));
  EXPECT_TRUE(placement.pair(masked.graph.inputs()[0]));
  // Others read it, too: then it is a value like any.
  masked.graph.add_output(masked.sum, "seen");
  EXPECT_EQ(masked.role(place_pairs(masked.graph, {})).role, Role::kernel);
}

TEST(Settled, RangesOfWhatSizesDecide) {
  Masked masked;
  Graph& graph = masked.graph;
  auto sizes = std::make_shared<Sizes>();
  const Dim length = sizes->add({"length", {1, 512}}, 48);
  graph.set_sizes(sizes);
  const ValueId extent = graph.add_extents("extent", DType::f32, Shape{1}, {length});
  const ValueId doubled = masked.add(kBinary, BinaryAttrs{BinaryKind::mul},
                                     {extent, graph.add_constant("two", Tensor::scalar(2.0f))}, "doubled");
  const auto ranges = settled_ranges(graph, {doubled, masked.sum}, {5});
  ASSERT_TRUE(ranges) << to_string(ranges.errors());
  ASSERT_EQ(ranges->size(), 1u);  // an input decides the other one
  EXPECT_EQ(ranges->at("doubled").lowest, 10.0f);
  EXPECT_EQ(ranges->at("doubled").highest, 10.0f);
  EXPECT_EQ(place_pairs(graph, {}).role(graph.value(doubled).producer).role, Role::floating);
}

}  // namespace
}  // namespace octavo
