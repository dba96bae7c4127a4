// Graph, Patch and verify: rewrites apply as a whole or not at all.
#include "graph/patch.h"

#include <gtest/gtest.h>

#include "ops/binary/binary.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

const Attrs kRelu = UnaryAttrs{.kind = UnaryKind::relu};
const Attrs kNeg = UnaryAttrs{.kind = UnaryKind::neg};

// y = relu(relu(x)).
struct TwoRelus {
  Graph graph;
  ValueId x, inner, outer;

  TwoRelus() {
    x = graph.add_input("x", DType::f32, {4});
    inner = *graph.add(kUnary, kRelu, {x}, "inner");
    outer = *graph.add(kUnary, kRelu, {inner}, "outer");
    graph.add_output(outer, "y");
  }
};

Match merge_relus(const Graph& graph, const Node& node) {
  if (node.spec != &kUnary || !(node.attrs == kRelu)) return "";
  const Node* before = graph.producer_if(node.inputs[0], kUnary);
  if (before == nullptr || !(before->attrs == kRelu)) return "its input is no relu";
  Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(kUnary, kRelu, before->inputs, node.name));
  return patch;
}

TEST(Graph, ReadersAndProducers) {
  TwoRelus g;
  EXPECT_EQ(g.graph.readers(g.inner).size(), 1u);
  EXPECT_TRUE(g.graph.has_one_reader(g.inner));
  EXPECT_FALSE(g.graph.has_one_reader(g.outer));
  EXPECT_TRUE(g.graph.is_output(g.outer));
  EXPECT_EQ(g.graph.producer(g.x), nullptr);
  EXPECT_EQ(g.graph.producer(g.outer)->name, "outer");
  EXPECT_EQ(g.graph.producer_if(g.outer, kBinary), nullptr);
  EXPECT_TRUE(verify(g.graph).ok());
}

TEST(Graph, ConstantsThatNobodyReadsLeaveMemory) {
  TwoRelus g;
  const ValueId unread = g.graph.add_constant("unread", Tensor(DType::f32, {1000}));
  const ValueId output = g.graph.add_constant("output", Tensor(DType::f32, {4}));
  g.graph.add_output(output, "c");
  const std::weak_ptr<const Tensor> data = g.graph.fact(unread).constant;
  g.graph.remove_unused();
  EXPECT_TRUE(data.expired());
  EXPECT_NE(g.graph.fact(output).constant, nullptr);
}

TEST(Graph, ANodeThatReadsTwiceIsTwoUses) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, {4});
  const ValueId relu = *graph.add(kUnary, kRelu, {x}, "relu");
  graph.add_output(*graph.add(kBinary, BinaryAttrs{}, {relu, relu}, "sum"), "y");
  EXPECT_FALSE(graph.has_one_reader(relu));
  EXPECT_EQ(graph.readers(relu).size(), 1u);
}

TEST(Graph, OutputsFollowWhatReplacesThem) {
  TwoRelus g;
  g.graph.add_output(g.outer, "again");
  g.graph.replace_uses(g.outer, g.inner);
  EXPECT_FALSE(g.graph.is_output(g.outer));
  EXPECT_TRUE(g.graph.is_output(g.inner));
  EXPECT_EQ(g.graph.outputs(), (std::vector<ValueId>{g.inner, g.inner}));
  g.graph.replace_uses(g.x, g.outer);  // no output
  EXPECT_FALSE(g.graph.is_output(g.outer));
  EXPECT_TRUE(g.graph.is_output(g.inner));
}

TEST(Graph, AReplacedConstantLeavesMemory) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, {2});
  const ValueId old = graph.add_constant("w", Tensor::of<float>(Shape{2}, std::vector<float>{1, 2}));
  const std::weak_ptr<const Tensor> data = graph.fact(old).constant;
  graph.add_output(*graph.add(kBinary, BinaryAttrs{}, {x, old}, "sum"), "y");
  const ValueId other = graph.add_constant("w", Tensor::of<float>(Shape{2}, std::vector<float>{3, 4}));
  graph.replace_uses(old, other);
  EXPECT_TRUE(data.expired());
  EXPECT_TRUE(graph.fact(other).is_constant());
  EXPECT_EQ(graph.node(graph.order()[0]).inputs[1], other);
  EXPECT_TRUE(verify(graph).ok());
}

TEST(Graph, ARefusedNodeLeavesItUnchanged) {
  TwoRelus g;
  const std::string before = to_string(g.graph);
  const auto added = g.graph.add(kReshape, ReshapeAttrs{{5}}, {g.x}, "bad");
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(to_string(g.graph), before);
  EXPECT_EQ(added.errors().front().kind, ErrorKind::invalid_input);
}

TEST(Patch, ReplacesAndRemovesWhatIsUnused) {
  TwoRelus g;
  const PassReport report = rewrite(g.graph, "merge relus", merge_relus);
  EXPECT_EQ(report.applied(), 1);
  EXPECT_EQ(g.graph.node_count(), 1);
  EXPECT_TRUE(verify(g.graph).ok());
  EXPECT_EQ(g.graph.output_names(), std::vector<std::string>{"y"});
  // The remaining relu says why it stays.
  EXPECT_EQ(report.entries.back().reason, "its input is no relu");
}

TEST(Patch, BudgetStopsTheRewrite) {
  TwoRelus g;
  int budget = 0;
  EXPECT_EQ(rewrite(g.graph, "merge relus", merge_relus, &budget).applied(), 0);
  EXPECT_EQ(g.graph.node_count(), 2);
}

TEST(Patch, RewritesThatUndoEachOtherAreAFailure) {
  TwoRelus g;
  const auto swap = [](const Graph& graph, const Node& node) -> Match {
    if (node.spec != &kUnary) return "";
    Patch patch(graph);
    patch.replace(node.outputs[0], patch.add(kUnary, node.attrs == kRelu ? kNeg : kRelu, node.inputs, node.name));
    return patch;
  };
  const PassReport report = rewrite(g.graph, "swap", swap);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].kind, ErrorKind::internal);
  EXPECT_EQ(report.failures[0].message(),
            "swap, at 'outer': found 1152 rewrites and no end, expected rewrites that do not undo each other");
  EXPECT_TRUE(verify(g.graph).ok());
}

TEST(Patch, RefusesAnotherTypeAndChangesNothing) {
  TwoRelus g;
  const std::string before = to_string(g.graph);
  Patch patch(g.graph);
  patch.replace(g.outer, patch.add(kReshape, ReshapeAttrs{{2, 2}}, {g.inner}, "reshaped"));
  const Status status = apply(g.graph, patch);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.errors().front().kind, ErrorKind::internal);
  EXPECT_EQ(to_string(g.graph), before);
}

TEST(Patch, RefusesAfterAnInvalidNode) {
  TwoRelus g;
  Patch patch(g.graph);
  const ValueId bad = patch.add(kReshape, ReshapeAttrs{{5}}, {g.inner}, "bad");
  patch.replace(g.outer, bad);
  EXPECT_FALSE(apply(g.graph, patch).ok());
  EXPECT_EQ(g.graph.node_count(), 2);
}

TEST(Patch, NewNodesMayFeedOlderOnes) {
  TwoRelus g;
  Patch patch(g.graph);
  const ValueId one = patch.constant("one", Tensor::scalar(1.0f));
  const ValueId shifted = patch.add(kBinary, BinaryAttrs{}, {g.x, one}, "shifted");
  patch.replace(g.inner, patch.add(kUnary, kNeg, {shifted}, "negated"));
  ASSERT_TRUE(apply(g.graph, patch).ok());
  EXPECT_TRUE(verify(g.graph).ok());
  EXPECT_EQ(g.graph.node_count(), 3);
  EXPECT_EQ(g.graph.node(g.graph.order().back()).name, "outer");
}

TEST(Verify, FindsDuplicateNames) {
  Graph graph;
  const ValueId a = graph.add_input("x", DType::f32, {1});
  graph.add_input("x", DType::f32, {1});
  graph.add_output(a, "y");
  EXPECT_FALSE(verify(graph).ok());
}

TEST(Graph, PrintsOneLinePerNode) {
  TwoRelus g;
  EXPECT_EQ(to_string(g.graph),
            "%0 f32[4] = input 'x'\n%1 f32[4] = unary(%0) {kind=relu} 'inner'\n%2 f32[4] = unary(%1) {kind=relu} "
            "'outer'\noutput 'y' = %2\n");
}

}  // namespace
}  // namespace octavo
