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
