// Values are numbered as the file names them, whatever compiler built the importer: numbers decide an artifact's bytes.
// Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "support/onnx_builder.h"
#include "support/tflite_builder.h"

namespace octavo::testing {
namespace {

using Names = std::vector<std::string>;

// Names of the values that `nodes` of the graph make or hold as constants, by number.
Names names_of(const Result<ImportedModel>& model, const Names& wanted) {
  Names found;
  EXPECT_TRUE(model) << to_string(model.errors());
  for (int i = 0; model && i < model->graph.value_count(); ++i) {
    const std::string& name = model->graph.value({i}).name;
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) found.push_back(name);
  }
  return found;
}

Tensor byte(DType dtype, Shape shape = {}) { return Tensor(dtype, std::move(shape)); }

// As ONNX Runtime takes them; a graph inside a node reads from outside, too, and calls its own values as it likes.
TEST(ImportOrder, NodesInAnyOrder) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {2}).output("y");
  builder.initializer("one", floats({}, {1}));
  builder.node({"Identity", {"chosen"}, {"y"}, {}, "", "last"}).node({"If", {"is"}, {"chosen"}, {}, "", "if"});
  builder.node({"Add", {"twice", "one"}, {"more"}, {}, "", "add"}).node({"Add", {"x", "x"}, {"twice"}, {}, "", "mul"});
  builder.node({"Greater", {"first", "one"}, {"is"}, {}, "", "greater"});
  builder.node({"ReduceMax", {"x"}, {"first"}, {}, "", "max"});
  auto& branches = *builder.proto().mutable_graph()->mutable_node(1);
  for (const auto& [name, op] : {std::pair{"then_branch", "Abs"}, std::pair{"else_branch", "Neg"}}) {
    auto& attribute = *branches.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& node = *attribute.mutable_g()->add_node();
    node.set_op_type(op);
    node.add_input("more");
    node.add_output("chosen");  // what the If calls its result
    attribute.mutable_g()->add_output()->set_name("chosen");
  }
  const auto model = builder.import();
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  EXPECT_TRUE(model->program.has_value());
}

TEST(ImportOrder, NodesOfOneGraphInAnyOrder) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {2}).output("y");
  builder.node({"Abs", {"a"}, {"y"}, {}, "", "second"}).node({"Neg", {"x"}, {"a"}, {}, "", "first"});
  EXPECT_EQ(as_floats(answers(builder, {floats({2}, {1, -2})})[0]), (std::vector<float>{1, 2}));
}

TEST(ImportOrder, OperandsOfAConvolution) {
  ModelBuilder builder(13);
  builder.input("x", DType::u8, {1, 1, 2, 2}).output("y");
  builder.initializer("s", floats({}, {1})).initializer("u", byte(DType::u8)).initializer("z", byte(DType::s8));
  builder.initializer("w", byte(DType::s8, {1, 1, 1, 1}));
  builder.node({"QLinearConv", {"x", "s", "u", "w", "s", "z", "s", "u"}, {"y"}, {}, "", "n"});
  const Names wanted{"n.x", "n.w", "n.conv"};
  EXPECT_EQ(names_of(builder.import(), wanted), wanted);
}

TEST(ImportOrder, OperandsOfAProduct) {
  ModelBuilder builder(13);
  builder.opset_import("com.microsoft", 1);
  builder.input("x", DType::u8, {1, 2}).output("y");
  builder.initializer("s", floats({}, {1})).initializer("u", byte(DType::u8)).initializer("z", byte(DType::s8));
  builder.initializer("w", byte(DType::s8, {2, 2}));
  builder.node({"QGemm", {"x", "s", "u", "w", "s", "z", "", "s", "u"}, {"y"}, {}, "com.microsoft", "n"});
  const Names wanted{"n.a", "n.b", "n.matmul"};
  EXPECT_EQ(names_of(builder.import(), wanted), wanted);
}

TEST(ImportOrder, PartsOfANorm) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1, 4}});
  builder.add({.code = 11, .inputs = {x}, .outputs = {builder.output({.name = "n"})}});
  const Names wanted{"n.norm", "n.epsilon", "n.bounded"};
  EXPECT_EQ(names_of(builder.import(), wanted), wanted);
}

TEST(ImportOrder, IntegerWeightsAndBiasOfAProduct) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1, 4}});
  const int w = builder.constant(byte(DType::s8, {2, 4}), {0.5f}, {0});
  const int bias = builder.constant(floats({1, 2}, {1, 2}));
  builder.add(fully_connected({x, w, bias}, builder.output({.name = "n"})));
  const Names wanted{"n.scales", "n.bias_vector"};
  EXPECT_EQ(names_of(builder.import(), wanted), wanted);
}

}  // namespace
}  // namespace octavo::testing
