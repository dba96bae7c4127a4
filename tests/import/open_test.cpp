// Open dimensions: one import for all sizes gives, at each of them, the graph that an import at that size gives.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Ints = std::vector<std::int64_t>;

std::string text(const Errors& errors) { return to_string(errors); }

// The graph at these sizes, in the order in which the file names them.
Result<Graph> closed(Graph graph, const Ints& sizes) {
  const auto values = graph.sizes()->evaluate(sizes);
  if (!values) return values.errors();
  if (const Status status = graph.close(*values); !status) return status.errors();
  return graph;
}

// One import of `builder`, closed at batch n of x, is the import at that batch.
void expect_same_at(const ModelBuilder& builder, const Ints& dims, const Ints& batches) {
  const auto open = builder.import({.keeps_open = true});
  ASSERT_TRUE(open) << text(open.errors());
  ASSERT_NE(open->graph.sizes(), nullptr);
  EXPECT_TRUE(open->graph.sizes()->conditions().empty()) << open->graph.sizes()->conditions().front().where;
  for (const std::int64_t n : batches) {
    Ints whole = {n};
    whole.insert(whole.end(), dims.begin(), dims.end());
    const auto fixed = builder.import({.shapes = {{"x", {whole.begin(), whole.end()}}}});
    ASSERT_TRUE(fixed) << text(fixed.errors());
    const auto at = closed(open->graph, {n});
    ASSERT_TRUE(at) << text(at.errors());
    EXPECT_EQ(to_string(*at), to_string(fixed->graph)) << "N = " << n;
  }
}

ModelBuilder model(const Ints& dims) {
  ModelBuilder builder;
  Ints whole = {-1};
  whole.insert(whole.end(), dims.begin(), dims.end());
  builder.input("x", DType::f32, whole).output("y");
  return builder;
}

TEST(OpenShapes, WindowsAndPools) {
  ModelBuilder builder = model({3, 9, 8});
  builder.initializer("w", Tensor(DType::f32, {4, 3, 3, 3}))
      .node({.op = "Conv", .inputs = {"x", "w"}, .outputs = {"a"}, .attributes = {{"strides", Ints{2, 2}}}})
      .node({.op = "MaxPool", .inputs = {"a"}, .outputs = {"b"}, .attributes = {{"kernel_shape", Ints{2, 2}}}})
      .node({.op = "GlobalAveragePool", .inputs = {"b"}, .outputs = {"c"}})
      .node({.op = "Flatten", .inputs = {"c"}, .outputs = {"y"}});
  expect_same_at(builder, {3, 9, 8}, {0, 1, 2, 7, 64});
}

// A reader of lines of text: its windows leave one row of a line's height, and the file takes it away by name.
TEST(OpenShapes, AnAxisThatIsOneAtSomeHeights) {
  ModelBuilder builder(11);
  builder.input("x", DType::f32, {2, 1, -1, 40})
      .output("y")
      .node({.op = "AveragePool",
             .inputs = {"x"},
             .outputs = {"a"},
             .attributes = {{"kernel_shape", Ints{33, 1}}, {"strides", Ints{48, 1}}}})
      .node({.op = "Squeeze", .inputs = {"a"}, .outputs = {"y"}, .attributes = {{"axes", Ints{2}}}});
  EXPECT_FALSE(builder.import({.keeps_open = true}).ok());
  const auto open = builder.import({.keeps_open = true, .example_side = 48});
  ASSERT_TRUE(open) << text(open.errors());
  for (const std::int64_t height : {33, 48, 80}) {
    const auto at = closed(open->graph, {height});
    ASSERT_TRUE(at) << text(at.errors());
    EXPECT_EQ(at->fact(at->outputs()[0]).shape, (OpenShape{2, 1, 40})) << height;
  }
  EXPECT_FALSE(closed(open->graph, {81}).ok());
}

// What exporters write for view(x.size(0), -1).
TEST(OpenShapes, ArithmeticOfShapes) {
  ModelBuilder builder = model({3, 4});
  builder.initializer("zero", Tensor::scalar<std::int64_t>(0))
      .initializer("axes", integers({1}, {0}))
      .initializer("rest", integers({1}, {-1}))
      .initializer("two", integers({1}, {2}))
      .node({.op = "Shape", .inputs = {"x"}, .outputs = {"s"}})
      .node({.op = "Gather", .inputs = {"s", "zero"}, .outputs = {"n"}})
      .node({.op = "Unsqueeze", .inputs = {"n", "axes"}, .outputs = {"n1"}})
      .node({.op = "Mul", .inputs = {"n1", "two"}, .outputs = {"n2"}})
      .node({.op = "Concat", .inputs = {"n2", "rest"}, .outputs = {"to"}, .attributes = {{"axis", std::int64_t{0}}}})
      .node({.op = "Reshape", .inputs = {"x", "to"}, .outputs = {"y"}});
  expect_same_at(builder, {3, 4}, {1, 2, 7, 64});
}

TEST(OpenShapes, SlicesToTheEnd) {
  ModelBuilder builder = model({6});
  builder.initializer("starts", integers({1}, {1}))
      .initializer("ends", integers({1}, {std::numeric_limits<std::int64_t>::max()}))
      .initializer("axes", integers({1}, {0}))
      .node({.op = "Slice", .inputs = {"x", "starts", "ends", "axes"}, .outputs = {"y"}});
  expect_same_at(builder, {6}, {2, 3, 64});
}

// The last rows, as many as another tensor has: T5's x[-n:].
TEST(OpenShapes, NegativeSizes) {
  ModelBuilder builder = model({6});
  builder.initializer("zero", Tensor::scalar<std::int64_t>(0))
      .initializer("axes", integers({1}, {0}))
      .initializer("ends", integers({1}, {std::numeric_limits<std::int64_t>::max()}))
      .initializer("six", integers({1}, {6}))
      .node({.op = "Shape", .inputs = {"x"}, .outputs = {"s"}})
      .node({.op = "Gather", .inputs = {"s", "zero"}, .outputs = {"n"}})
      .node({.op = "Neg", .inputs = {"n"}, .outputs = {"minus"}})
      .node({.op = "Unsqueeze", .inputs = {"minus", "axes"}, .outputs = {"starts"}})
      .node({.op = "Concat", .inputs = {"x", "x"}, .outputs = {"twice"}, .attributes = {{"axis", std::int64_t{0}}}})
      .node({.op = "Slice", .inputs = {"twice", "starts", "ends", "axes"}, .outputs = {"last"}})
      .node({.op = "Abs", .inputs = {"starts"}, .outputs = {"rows"}})
      .node({.op = "Concat",
             .inputs = {"rows", "six"},
             .outputs = {"rows_and"},
             .attributes = {{"axis", std::int64_t{0}}}})
      .node({.op = "Expand", .inputs = {"last", "rows_and"}, .outputs = {"y"}});
  expect_same_at(builder, {6}, {1, 2, 64});
}

// The same where an import at one size folds what an open one leaves to the run: equal answers to x = 0, 1, 2, ...
void expect_same_answers_at(const ModelBuilder& builder, const Ints& dims, const Ints& batches) {
  const auto open = builder.import({.keeps_open = true});
  ASSERT_TRUE(open) << text(open.errors());
  for (const std::int64_t n : batches) {
    Ints whole = {n};
    whole.insert(whole.end(), dims.begin(), dims.end());
    const auto fixed = builder.import({.shapes = {{"x", {whole.begin(), whole.end()}}}});
    ASSERT_TRUE(fixed) << text(fixed.errors());
    const auto at = closed(open->graph, {n});
    ASSERT_TRUE(at) << text(at.errors());
    Tensor x(DType::f32, Shape(whole));
    for (std::int64_t i = 0; i < x.elements(); ++i) x.as<float>()[i] = static_cast<float>(i % 7);
    const std::vector<Tensor> inputs{x};
    const auto found = evaluate(*at, inputs), wanted = evaluate(fixed->graph, inputs);
    ASSERT_TRUE(found && wanted);
    for (std::size_t i = 0; i < wanted->size(); ++i) EXPECT_TRUE((*found)[i] == (*wanted)[i]) << "N = " << n;
  }
}

// Frames of 5 that begin 2 apart, of two signals without an axis of their own.
TEST(OpenShapes, FramesOfASignal) {
  ModelBuilder builder = model({2});
  builder.initializer("step", integers({}, {2})).initializer("window", floats({5}, {1, 2, 3, 2, 1}));
  builder.node({.op = "Transpose", .inputs = {"x"}, .outputs = {"t"}, .attributes = {{"perm", Ints{1, 0}}}})
      .node({.op = "STFT", .inputs = {"t", "step", "window"}, .outputs = {"y"}});
  expect_same_answers_at(builder, {2}, {5, 6, 7, 16, 33});
}

TEST(OpenShapes, SelectionByPosition) {
  const auto expect = [](const NodeText& node, const std::vector<Tensor>& constants, const Ints& dims) {
    SCOPED_TRACE(node.op);
    ModelBuilder builder(18);
    Ints whole = {-1};
    whole.insert(whole.end(), dims.begin(), dims.end());
    builder.input("x", DType::f32, whole).output("y");
    for (std::size_t i = 0; i < constants.size(); ++i) builder.initializer("c" + std::to_string(i), constants[i]);
    expect_same_answers_at(builder.node(node), dims, {1, 2, 5});
  };
  const auto axis = [](std::int64_t value) { return std::vector<NamedAttribute>{{"axis", value}}; };
  expect({.op = "Trilu", .inputs = {"x"}, .outputs = {"y"}}, {}, {4});
  expect({.op = "Trilu", .inputs = {"x"}, .outputs = {"y"}}, {}, {3, 4});
  expect({.op = "EyeLike", .inputs = {"x"}, .outputs = {"y"}}, {}, {4});
  expect({.op = "Hardmax", .inputs = {"x"}, .outputs = {"y"}, .attributes = axis(0)}, {}, {4});
  expect({.op = "TopK", .inputs = {"x", "c0"}, .outputs = {"y", "p"}}, {integers({1}, {2})}, {4});
  expect({.op = "OneHot", .inputs = {"x", "c0", "c1"}, .outputs = {"y"}}, {integers({}, {3}), floats({2}, {0, 1})},
         {2});
  expect({.op = "Einsum",
          .inputs = {"x", "c0"},
          .outputs = {"y"},
          .attributes = {{"equation", std::string("bij,kj->bki")}}},
         {floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {4, 3});
  expect(
      {.op = "Einsum", .inputs = {"x", "x"}, .outputs = {"y"}, .attributes = {{"equation", std::string("bi,ci->bc")}}},
      {}, {4});
  expect({.op = "GatherND", .inputs = {"x", "c0"}, .outputs = {"y"}}, {integers({1, 1}, {-1})}, {4});
  expect({.op = "ScatterND", .inputs = {"x", "c0", "c1"}, .outputs = {"y"}},
         {integers({1, 1}, {0}), floats({1, 4}, {7, 8, 9, 9})}, {4});
  expect({.op = "CenterCropPad", .inputs = {"x", "c0"}, .outputs = {"y"}, .attributes = {{"axes", Ints{1}}}},
         {integers({1}, {2})}, {5});
}

// Another example can only mend what the example was asked.
TEST(OpenShapes, RefusedFilesTellWhatWasAnsweredByExamples) {
  std::vector<std::shared_ptr<const Sizes>> tables;
  ModelBuilder unknown = model({3});
  unknown.node({.op = "NoSuchOperator", .inputs = {"x"}, .outputs = {"y"}});
  EXPECT_FALSE(unknown.import({.keeps_open = true, .tables = &tables}));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_TRUE(tables[0]->conditions().empty());
  ModelBuilder fixed = model({3});
  fixed.initializer("one", Tensor(DType::f32, {1, 3}))
      .node({.op = "Concat", .inputs = {"x", "one"}, .outputs = {"y"}, .attributes = {{"axis", std::int64_t{1}}}});
  tables.clear();
  EXPECT_FALSE(fixed.import({.keeps_open = true, .tables = &tables}));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_FALSE(tables[0]->conditions().empty());
  EXPECT_TRUE(fixed.import({.keeps_open = true, .example_batch = 1}));
}

TEST(OpenShapes, WhatDoesNotHoldAtASizeNamesIt) {
  ModelBuilder builder = model({3});
  builder.initializer("to", integers({2}, {3, -1})).node({.op = "Reshape", .inputs = {"x", "to"}, .outputs = {"y"}});
  const auto open = builder.import({.keeps_open = true});
  ASSERT_TRUE(open) << text(open.errors());
  EXPECT_TRUE(closed(open->graph, {4}));
  EXPECT_TRUE(closed(open->graph, {0}));
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    const auto refused = closed(open->graph, {bad});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.errors()[0].where, "size 'N'");
    EXPECT_EQ(refused.errors()[0].found, std::to_string(bad));
  }
}

}  // namespace
}  // namespace octavo::testing
