// Arithmetic on open sizes, in integers, floats and truths: one import answers at every size as an import at it does.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;

// x [N, N2]; "h" and "w" its sizes as scalars, "hw" as a list.
ModelBuilder picture() {
  ModelBuilder builder;
  builder.input("x", DType::f32, {-1, -2}).output("y");
  builder.initializer("0", integers({}, {0})).initializer("1", integers({}, {1})).initializer("7", integers({}, {7}));
  builder.initializer("axis", integers({1}, {0})).initializer("none", integers({1}, {0}));
  builder.node({.op = "Shape", .inputs = {"x"}, .outputs = {"hw"}})
      .node({.op = "Gather", .inputs = {"hw", "0"}, .outputs = {"h"}})
      .node({.op = "Gather", .inputs = {"hw", "1"}, .outputs = {"w"}});
  return builder;
}

struct Step {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
};

ModelBuilder& add(ModelBuilder& builder, const std::vector<Step>& steps) {
  for (const auto& [op, inputs, output] : steps) {
    NodeText node{.op = op, .inputs = inputs, .outputs = {output}};
    if (op == "Float") node = {"Cast", inputs, {output}, {{"to", std::int64_t{onnx::TensorProto::FLOAT}}}};
    if (op == "Integer") node = {"Cast", inputs, {output}, {{"to", std::int64_t{onnx::TensorProto::INT64}}}};
    if (op == "Concat") node.attributes = {{"axis", std::int64_t{0}}};
    if (op == "ReduceMax") node.attributes = {{"keepdims", std::int64_t{0}}};
    builder.node(node);
  }
  return builder;
}

// No size is refused, and at each the answer is that of an import at this size.
void expect_same_at_all(const ModelBuilder& builder) {
  const auto open = builder.import({.keeps_open = true});
  ASSERT_TRUE(open) << to_string(open.errors());
  for (const auto& [h, w] : {std::pair{1, 1}, {1, 2}, {2, 1}, {3, 3}, {7, 8}, {8, 7}, {14, 5}, {33, 64}}) {
    SCOPED_TRACE(std::to_string(h) + "x" + std::to_string(w));
    const auto fixed = builder.import({.shapes = {{"x", {Extent(h), Extent(w)}}}});
    ASSERT_TRUE(fixed) << to_string(fixed.errors());
    Graph at = open->graph;
    const auto values = at.sizes()->evaluate(Ints{h, w});
    ASSERT_TRUE(values) << to_string(values.errors());
    const Status status = at.close(*values);
    ASSERT_TRUE(status) << to_string(status.errors());
    Tensor x(DType::f32, Shape{h, w});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.as<float>()[i] = static_cast<float>(i % 11) - 4.5f;
    const std::vector<Tensor> inputs{x};
    const auto found = evaluate(at, inputs), wanted = evaluate(fixed->graph, inputs);
    ASSERT_TRUE(found && wanted);
    EXPECT_EQ((*found)[0].shape(), (*wanted)[0].shape());
    EXPECT_TRUE((*found)[0] == (*wanted)[0]);
  }
}

void expect_same_at_all(const std::vector<Step>& steps,
                        const std::vector<std::pair<std::string, Tensor>>& constants = {}) {
  ModelBuilder builder = picture();
  for (const auto& [name, tensor] : constants) builder.initializer(name, tensor);
  expect_same_at_all(add(builder, steps));
}

TEST(OpenArithmetic, TheLongerSideInFloats) {
  expect_same_at_all(
      {{"Float", {"h"}, "fh"}, {"Float", {"w"}, "fw"}, {"Max", {"fh", "fw"}, "side"}, {"Mul", {"x", "side"}, "y"}});
  expect_same_at_all({{"Float", {"hw"}, "sides"}, {"ReduceMax", {"sides"}, "side"}, {"Div", {"x", "side"}, "y"}});
}

TEST(OpenArithmetic, FloatsThatAreNotWhole) {
  expect_same_at_all({{"Float", {"h"}, "fh"}, {"Sqrt", {"fh"}, "root"}, {"Mul", {"x", "root"}, "y"}});
  expect_same_at_all({{"Float", {"hw"}, "sides"},
                      {"Reciprocal", {"sides"}, "by"},
                      {"Mul", {"x", "half"}, "z"},
                      {"Concat", {"by", "half"}, "y"}},
                     {{"half", floats({1}, {0.5f})}});
}

// Rounded down, as for a picture of half the size; rounded up, to whole windows.
TEST(OpenArithmetic, SizesByFloats) {
  const std::vector<Step> slice = {{"Integer", {"down"}, "half"},
                                   {"Unsqueeze", {"half", "axis"}, "end"},
                                   {"Slice", {"x", "none", "end", "axis"}, "y"}};
  const auto expect = [&](std::vector<Step> steps, const std::vector<std::pair<std::string, Tensor>>& constants) {
    steps.insert(steps.end(), slice.begin(), slice.end());
    expect_same_at_all(steps, constants);
  };
  const std::vector<std::pair<std::string, Tensor>> half = {{"f", floats({}, {0.5f})}},
                                                    seven = {{"f", floats({}, {7.0f})}};
  expect({{"Float", {"h"}, "fh"}, {"Mul", {"fh", "f"}, "down"}}, half);
  expect({{"Float", {"h"}, "fh"}, {"Mul", {"fh", "f"}, "part"}, {"Floor", {"part"}, "down"}}, half);
  expect({{"Float", {"h"}, "fh"},
          {"Div", {"fh", "f"}, "part"},
          {"Ceil", {"part"}, "windows"},
          {"Mul", {"windows", "f"}, "down"}},
         seven);
  expect({{"Float", {"hw"}, "sides"},
          {"Div", {"sides", "f"}, "parts"},
          {"Ceil", {"parts"}, "up"},
          {"Gather", {"up", "1"}, "down"}},
         seven);
}

TEST(OpenArithmetic, PaddedToWholeWindows) {
  expect_same_at_all({{"Mod", {"h", "7"}, "rest"},
                      {"Sub", {"7", "rest"}, "missing"},
                      {"Mod", {"missing", "7"}, "pad"},
                      {"Unsqueeze", {"pad", "axis"}, "pads"},
                      {"Concat", {"none", "none", "pads", "none"}, "all"},
                      {"Pad", {"x", "all"}, "y"}});
}

TEST(OpenArithmetic, QuotientsOfEitherSign) {
  expect_same_at_all({{"Sub", {"h", "w"}, "difference"},
                      {"Div", {"difference", "7"}, "toward_zero"},
                      {"Add", {"toward_zero", "100"}, "rows"},
                      {"Unsqueeze", {"rows", "axis"}, "list"},
                      {"ConstantOfShape", {"list"}, "y"}},
                     {{"100", integers({}, {100})}});
}

TEST(OpenArithmetic, ComparisonsChooseSizes) {
  const std::vector<Step> end = {{"Unsqueeze", {"rows", "axis"}, "list"}, {"ConstantOfShape", {"list"}, "y"}};
  for (const std::string op : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"}) {
    SCOPED_TRACE(op);
    std::vector<Step> steps = {{op, {"h", "w"}, "truth"}, {"Where", {"truth", "h", "7"}, "rows"}};
    steps.insert(steps.end(), end.begin(), end.end());
    expect_same_at_all(steps);
  }
  for (const std::string op : {"And", "Or", "Xor"}) {
    SCOPED_TRACE(op);
    std::vector<Step> steps = {{"Greater", {"h", "7"}, "a"},
                               {"Less", {"w", "7"}, "b"},
                               {"Not", {"b"}, "c"},
                               {op, {"a", "c"}, "truth"},
                               {"Integer", {"truth"}, "rows"}};
    steps.insert(steps.end(), end.begin(), end.end());
    expect_same_at_all(steps);
  }
}

TEST(OpenArithmetic, ComparisonsChooseElements) {
  expect_same_at_all(
      {{"Greater", {"h", "w"}, "truth"}, {"Neg", {"x"}, "minus"}, {"Where", {"truth", "x", "minus"}, "y"}});
}

TEST(OpenArithmetic, Ranges) {
  expect_same_at_all({{"Range", {"0", "h", "1"}, "y"}});
  expect_same_at_all({{"Float", {"w"}, "fw"}, {"Range", {"f0", "fw", "f1"}, "y"}},
                     {{"f0", floats({}, {0})}, {"f1", floats({}, {1})}});
  expect_same_at_all({{"Sub", {"h", "w"}, "difference"}, {"Range", {"0", "difference", "2"}, "y"}},
                     {{"2", integers({}, {2})}});
}

}  // namespace
}  // namespace octavo::testing
