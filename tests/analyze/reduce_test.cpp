// Cutting ONNX models. Part of tests/analyze/.
#include "analyze/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "import/import.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

using testing::ModelBuilder;

std::vector<std::string> types_in(const onnx::ModelProto& model) {
  std::vector<std::string> types;
  for (const auto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

bool has_type(const onnx::ModelProto& model, const std::string& type) {
  return std::ranges::count(types_in(model), type) > 0;
}

void expect_importable(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  const auto imported = import_model(std::as_bytes(std::span(bytes)), "part", {});
  EXPECT_TRUE(imported) << to_string(imported.errors());
}

// x -> Relu -> Neg -> ... with what `types` says.
ModelBuilder chain(const std::vector<std::string>& types) {
  ModelBuilder model;
  model.input("x", DType::f32, {2, 3});
  std::string last = "x";
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string next = "t" + std::to_string(i);
    model.node({types[i], {last}, {next}, {}, "", "n" + std::to_string(i)});
    last = next;
  }
  model.output(last);
  return model;
}

Reduction reduced(ModelBuilder& model, const Holds& holds, const ReduceOptions& options = {}) {
  auto result = reduce_model(OnnxSlicer(model.proto()), holds, options);
  EXPECT_TRUE(result) << to_string(result.errors());
  return result ? *result : Reduction{};
}

TEST(Reduce, LeavesTheNodesOnWhichItHangs) {
  auto model = chain({"Relu", "Neg", "Abs", "Sin", "Exp", "Neg", "Cos", "Sqrt", "Abs", "Neg", "Relu"});
  const Reduction result =
      reduced(model, [](const onnx::ModelProto& part) { return has_type(part, "Sin") && has_type(part, "Cos"); });
  EXPECT_EQ(types_in(result.model), (std::vector<std::string>{"Sin", "Cos"}));
  EXPECT_EQ(result.nodes_before, 11);
  EXPECT_EQ(result.nodes_after, 2);
  EXPECT_TRUE(result.is_smallest);
  const auto& graph = result.model.graph();
  ASSERT_EQ(graph.input_size(), 2);
  for (const auto& input : graph.input()) {
    EXPECT_EQ(input.type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
    ASSERT_EQ(input.type().tensor_type().shape().dim_size(), 2);
    EXPECT_EQ(input.type().tensor_type().shape().dim(1).dim_value(), 3);
  }
  EXPECT_EQ(graph.output_size(), 2);
  expect_importable(result.model);
}

TEST(Reduce, WhatOnlyConstantsMakeGoesWithItsReader) {
  ModelBuilder model;
  model.input("x", DType::f32, {1, 2, 3, 3}).initializer("s", Tensor::scalar(0.5f));
  model.initializer("q", Tensor(DType::s8, Shape{2, 2, 1, 1})).initializer("unread", Tensor(DType::f32, Shape{1000}));
  model.node({"DequantizeLinear", {"q", "s"}, {"w"}}).node({"Relu", {"x"}, {"r"}});
  model.node({"Conv", {"r", "w"}, {"c"}}).node({"Relu", {"c"}, {"y"}}).output("y");
  const Reduction result = reduced(model, [](const onnx::ModelProto& part) { return has_type(part, "Conv"); });
  EXPECT_EQ(types_in(result.model), (std::vector<std::string>{"DequantizeLinear", "Conv"}));
  EXPECT_EQ(result.nodes_before, 3);
  EXPECT_EQ(result.nodes_after, 1);
  EXPECT_EQ(result.model.graph().initializer_size(), 2);
  EXPECT_EQ(result.model.graph().input(0).name(), "r");
  expect_importable(result.model);
}

// Types up to what cannot be imported are known, those behind it are not.
TEST(Reduce, AnOperatorThatIsNotReadIsFound) {
  auto model = chain({"Relu", "Neg", "Frobnicate", "Abs", "Sin"});
  const Reduction result = reduced(model, [](const onnx::ModelProto& part) { return has_type(part, "Frobnicate"); });
  EXPECT_EQ(types_in(result.model), (std::vector<std::string>{"Frobnicate"}));
  EXPECT_EQ(result.model.graph().input(0).name(), "t1");
  const Reduction behind = reduced(model, [](const onnx::ModelProto& part) { return has_type(part, "Sin"); });
  EXPECT_EQ(types_in(behind.model), (std::vector<std::string>{"Frobnicate", "Abs", "Sin"}));
}

// What a branch reads from around it is an input of the part, too.
TEST(Reduce, BranchesKeepWhatTheyRead) {
  ModelBuilder branch;
  branch.node({"Neg", {"r"}, {"b"}}).output("b");
  ModelBuilder model;
  model.input("x", DType::f32, {2, 3}).input("c", DType::boolean, {}).node({"Relu", {"x"}, {"r"}});
  model.node({"If", {"c"}, {"y"}, {}, "", "if"}).output("y");
  auto& node = *model.proto().mutable_graph()->mutable_node(1);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = branch.proto().graph();
  }
  auto& known = *model.proto().mutable_graph()->add_value_info();
  known = model.proto().graph().input(0);
  known.set_name("r");
  const Reduction result = reduced(model, [](const onnx::ModelProto& part) { return has_type(part, "If"); });
  EXPECT_EQ(types_in(result.model), (std::vector<std::string>{"If"}));
  ASSERT_EQ(result.model.graph().input_size(), 2);
  EXPECT_EQ(result.model.graph().input(0).name(), "c");
  EXPECT_EQ(result.model.graph().input(1).name(), "r");
}

TEST(Reduce, TrialsAndStopsAreBounds) {
  const std::vector<std::string> types(64, "Relu");
  auto model = chain(types);
  const auto many = [](const onnx::ModelProto& part) { return part.graph().node_size() >= 20; };
  const Reduction limited = reduced(model, many, {.trials = 5});
  EXPECT_EQ(limited.trials, 5);
  EXPECT_FALSE(limited.is_smallest);
  EXPECT_GE(limited.model.graph().node_size(), 20);
  int asked = 0;
  const Reduction stopped = reduced(model, many, {.goes_on = [&] { return ++asked < 4; }});
  EXPECT_LE(stopped.trials, 5);
  EXPECT_FALSE(stopped.is_smallest);
  const Reduction whole = reduced(model, many);
  EXPECT_EQ(whole.model.graph().node_size(), 20);
  EXPECT_TRUE(whole.is_smallest);
}

TEST(Reduce, WhatDoesNotHoldIsUsage) {
  auto model = chain({"Relu", "Neg"});
  const auto never = reduce_model(OnnxSlicer(model.proto()), [](const onnx::ModelProto&) { return false; }, {});
  ASSERT_FALSE(never);
  EXPECT_EQ(never.errors()[0].kind, ErrorKind::usage);
  const Error broken{ErrorKind::resource, "disk", "none", "", ""};
  const auto failed =
      reduce_model(OnnxSlicer(model.proto()), [&](const onnx::ModelProto&) -> Result<bool> { return broken; }, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.errors()[0], broken);
}

}  // namespace
}  // namespace octavo
