// Recurrent layers read from ONNX, written and read again: the same answers. Part of tests/export/.
#include <gtest/gtest.h>

#include <random>

#include "export/onnx.h"
#include "import/import.h"
#include "ops/evaluate.h"
#include "ops/matmul/matmul.h"
#include "ops/recurrence/recurrence.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using I = std::int64_t;

Tensor noise(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.span<float>()) value = normal(random);
  return tensor;
}

struct Layer {
  std::string op;
  I gates = 1;
  std::vector<NamedAttribute> attributes;
  std::vector<std::string> activations = {};
};

Result<ImportedModel> layer(const Layer& given) {
  constexpr I kHidden = 5, kInputs = 3;
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {4, 2, kInputs}).output("y").output("h");
  builder.initializer("w", noise({2, given.gates * kHidden, kInputs}, 1));
  builder.initializer("r", noise({2, given.gates * kHidden, kHidden}, 2));
  builder.initializer("b", noise({2, 2 * given.gates * kHidden}, 3));
  builder.initializer("lengths", Tensor::of<std::int32_t>(Shape{2}, std::vector<std::int32_t>{4, 3}));
  builder.initializer("first", noise({2, 2, kHidden}, 4));
  std::vector<std::string> inputs{"x", "w", "r", "b", "lengths", "first"};
  if (given.op == "LSTM") inputs.insert(inputs.end(), {"first", "p"});
  if (given.op == "LSTM") builder.initializer("p", noise({2, 3 * kHidden}, 5));
  std::vector<NamedAttribute> attributes = given.attributes;
  attributes.push_back({"hidden_size", kHidden});
  attributes.push_back({"direction", std::string("bidirectional")});
  builder.node({given.op, inputs, {"y", "h"}, attributes, "", "layer"});
  if (!given.activations.empty()) {
    auto& names = *builder.proto().mutable_graph()->mutable_node(0)->add_attribute();
    names.set_name("activations");
    names.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& name : given.activations) names.add_strings(name);
  }
  return builder.import();
}

TEST(ExportRecurrent, LayersAreTheSameWhenReadAgain) {
  const std::vector<Layer> layers = {
      {"RNN", 1, {}, {"Relu", "HardSigmoid"}},
      {"GRU", 3, {{"clip", 0.5f}}},
      {"GRU", 3, {{"linear_before_reset", I{1}}}},
      {"LSTM", 4, {{"input_forget", I{1}}}},
  };
  for (const Layer& given : layers) {
    SCOPED_TRACE(given.op);
    const auto model = layer(given);
    ASSERT_TRUE(model) << to_string(model.errors());
    const auto bytes = export_onnx(model->graph, {.name = "test"});
    ASSERT_TRUE(bytes) << to_string(bytes.errors());
    const auto again = import_onnx(std::as_bytes(std::span(*bytes)), "", "test.onnx", {});
    ASSERT_TRUE(again) << to_string(again.errors());
    const std::vector<Tensor> x{noise({4, 2, 3}, 9)};
    const auto before = evaluate(model->graph, x), after = evaluate(again->graph, x);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(*after, *before);
    const auto products = [](const Graph& graph) {
      int count = 0;
      for (const NodeId id : graph.order()) count += graph.node(id).spec == &kMatmul ? 1 : 0;
      return count;
    };
    EXPECT_EQ(products(again->graph), products(model->graph));
  }
}

TEST(ExportRecurrent, ActivationsThatCellsLackAreNamed) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, {2, 1, 2});
  const ValueId w = graph.add_constant("w", noise({2, 2}, 1));
  const RecurrenceAttrs attrs{.kind = RecurrenceKind::simple, .candidate = {UnaryKind::mish}};
  const auto node = graph.add_node(kRecurrence, attrs, {x, w}, "layer");
  ASSERT_TRUE(node);
  graph.add_output(graph.node(*node).outputs[0], "y");
  const auto bytes = export_onnx(graph, {.name = "test"});
  ASSERT_FALSE(bytes);
  EXPECT_NE(to_string(bytes.errors()).find("mish"), std::string::npos);
}

}  // namespace
}  // namespace octavo::testing
