// evaluate: a small graph by the references; what the observer sees; wrong inputs.
#include "ops/evaluate.h"

#include "ops/binary/binary.h"
#include "ops/ops_test.h"
#include "ops/pad/pad.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

using ops_test::values;

// relu(x) + 1, and relu(x) itself.
Graph small_graph() {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, {3});
  const ValueId one = graph.add_constant("one", Tensor::scalar(1.0f));
  const ValueId relu = *graph.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {x}, "relu");
  const ValueId sum = *graph.add(kBinary, BinaryAttrs{BinaryKind::add}, {relu, one}, "sum");
  graph.add_output(sum, "sum");
  graph.add_output(relu, "relu");
  return graph;
}

const Tensor kInput = Tensor::of<float>({3}, std::vector<float>{-2, 0, 3});

TEST(Evaluate, GivesEveryOutput) {
  const auto outputs = evaluate(small_graph(), std::vector{kInput});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{1, 1, 4}));
  EXPECT_EQ(values<float>((*outputs)[1]), (std::vector<float>{0, 0, 3}));
}

TEST(Evaluate, ObserverSeesEveryComputedValueInOrder) {
  const Graph graph = small_graph();
  std::vector<std::string> seen;
  const auto outputs =
      evaluate(graph, std::vector{kInput}, [&](ValueId id, const Tensor&) { seen.push_back(graph.value(id).name); });
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"x", "relu", "sum"}));
}

TEST(Evaluate, RefusesWrongInputs) {
  const auto kind_of = [](const std::vector<Tensor>& inputs) {
    const auto outputs = evaluate(small_graph(), inputs);
    return outputs.ok() ? std::optional<ErrorKind>() : outputs.errors().front().kind;
  };
  EXPECT_EQ(kind_of({}), ErrorKind::usage);
  EXPECT_EQ(kind_of({Tensor(DType::f32, {4})}), ErrorKind::usage);
  EXPECT_EQ(kind_of({Tensor(DType::s32, {3})}), ErrorKind::usage);
}

TEST(Evaluate, InputsLeftOutAndConstantOutputs) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, {1});
  graph.add_output(*graph.add(kPad, PadAttrs{PadMode::constant, {1}, {0}}, {x}, "pad"), "padded");
  graph.add_output(graph.add_constant("c", Tensor::scalar(5.0f)), "c");
  graph.add_output(x, "same");
  const auto outputs = evaluate(graph, std::vector{Tensor::of<float>({1}, std::vector<float>{2})});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{0, 2}));
  EXPECT_EQ(values<float>((*outputs)[1]), (std::vector<float>{5}));
  EXPECT_EQ(values<float>((*outputs)[2]), (std::vector<float>{2}));
}

TEST(Evaluate, OpReportsWhatInferRefuses) {
  const Tensor wrong(DType::s32, {2});
  const auto outputs = evaluate_op(kUnary, UnaryAttrs{.kind = UnaryKind::exp}, std::vector{wrong.view()});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.errors().front().kind, ErrorKind::invalid_input);
}

}  // namespace
}  // namespace octavo
