// One broken file per message: what the importer says and of which kind. Part of the tests of import/.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using I = std::int64_t;
using Ints = std::vector<I>;

// The one error of a file, as text; the test fails where there is none or another kind.
std::string errors_message_of(const Result<ImportedModel>& model, ErrorKind kind) {
  if (model) {
    ADD_FAILURE() << "was imported";
    return "";
  }
  EXPECT_EQ(model.errors().front().kind, kind) << to_string(model.errors());
  return to_string(model.errors());
}

Result<ImportedModel> import_bytes(const std::string& bytes) {
  return import_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), "", "test.onnx", {});
}

ModelBuilder with_input(std::vector<I> dims = {1, 1, 4, 4}, I opset = 17) {
  ModelBuilder builder(opset);
  builder.input("x", DType::f32, dims).output("y");
  return builder;
}

ModelBuilder quantizing(const Tensor& scale) {
  auto builder = with_input();
  builder.initializer("s", scale).node({"QuantizeLinear", {"x", "s"}, {"y"}, {}, "", "q"});
  return builder;
}

TEST(ImportErrors, TruncatedFile) {
  auto builder = with_input();
  builder.initializer("w", floats({64}, std::vector<float>(64, 1))).node({"Relu", {"x"}, {"y"}});
  const std::string bytes = builder.bytes();
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) refused += import_bytes(bytes.substr(0, size)) ? 0 : 1;
  EXPECT_GE(refused, static_cast<int>(bytes.size()) * 9 / 10);
  EXPECT_EQ(
      errors_message_of(import_bytes(bytes.substr(0, bytes.size() / 2)), ErrorKind::invalid_input),
      "test.onnx: found bytes that are no ONNX protobuf message, expected an ONNX model. The file may be truncated");
}

TEST(ImportErrors, FlippedBitsNeverCrash) {
  auto builder = with_input();
  builder.initializer("w", floats({1, 1, 2, 2}, {1, 2, 3, 4}))
      .node({"Conv", {"x", "w"}, {"c"}, {{"pads", Ints{1, 1, 0, 0}}}})
      .node({"Relu", {"c"}, {"y"}});
  const std::string bytes = builder.bytes();
  int read = 0;
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string broken = bytes;
    broken[i / 8] = static_cast<char>(broken[i / 8] ^ (1 << (i % 8)));
    read += import_bytes(broken) ? 1 : 0;
  }
  EXPECT_GT(read, 0);
}

TEST(ImportErrors, EmptyGraph) {
  EXPECT_EQ(errors_message_of(import_bytes(""), ErrorKind::invalid_input),
            "test.onnx: found no graph, expected a model with one");
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {1});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: found a graph without outputs, expected at least one output");
}

TEST(ImportErrors, OpsetOutsideOfOurs) {
  EXPECT_EQ(errors_message_of(with_input({1}, 6).import(), ErrorKind::unsupported),
            "test.onnx: opset_import: found opset 6, expected 7 to 28. Convert the model to another opset");
  EXPECT_NE(errors_message_of(with_input({1}, 29).import(), ErrorKind::unsupported).find("opset 29"),
            std::string::npos);
}

TEST(ImportErrors, NoOpset) {
  auto builder = with_input();
  builder.proto().clear_opset_import();
  builder.node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input).substr(0, 76),
            "test.onnx: opset_import: found none for the standard operators, expected one");
}

TEST(ImportErrors, RangesThatDoNotEnd) {
  for (const I step : {I{0}, I{1}}) {
    auto builder = with_input();
    builder.initializer("start", integers({}, {0}))
        .initializer("limit", integers({}, {INT64_MAX}))
        .initializer("step", integers({}, {step}));
    builder.node({"Range", {"start", "limit", "step"}, {"y"}, {}, "", "r"});
    EXPECT_NE(errors_message_of(builder.import(), ErrorKind::invalid_input).find("node 'r'"), std::string::npos);
  }
}

TEST(ImportErrors, UnknownOperatorsAreListedAtOnce) {
  auto builder = with_input();
  builder.node({"Foo", {"x"}, {"a"}, {}, "", "n1"})
      .node({"Foo", {"a"}, {"b"}, {}, "", "n2"})
      .node({"Bar", {"b"}, {"y"}, {}, "", "n3"});
  EXPECT_EQ(
      errors_message_of(builder.import(), ErrorKind::unsupported),
      "test.onnx: operator Bar (opset 17): found it in node 'n3', expected operators and opsets that Octavo reads\n"
      "test.onnx: operator Foo (opset 17): found it in nodes 'n1', 'n2', expected operators and opsets that Octavo "
      "reads");
}

TEST(ImportErrors, UnknownAttribute) {
  auto builder = with_input();
  builder.node({"Relu", {"x"}, {"y"}, {{"slope", 0.5f}}, "", "act"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::unsupported),
            "test.onnx: node 'act' (Relu, opset 17), attribute 'slope': found 0.5, expected no attribute of this name");
}

TEST(ImportErrors, AttributeOfAnotherType) {
  auto builder = with_input();
  builder.node({"LeakyRelu", {"x"}, {"y"}, {{"alpha", I{1}}}, "", "act"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: node 'act' (LeakyRelu, opset 17), attribute 'alpha': found 1, expected a number");
}

TEST(ImportErrors, WrongAutoPad) {
  auto builder = with_input();
  builder.initializer("w", floats({1, 1, 1, 1}, {1}))
      .node({"Conv", {"x", "w"}, {"y"}, {{"auto_pad", std::string("SAME")}}, "", "c"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: node 'c' (Conv, opset 17), attribute 'auto_pad': found 'SAME', expected NOTSET, VALID, "
            "SAME_UPPER or SAME_LOWER");
}

TEST(ImportErrors, WrongRank) {
  auto builder = with_input({1, 4});
  builder.initializer("w", floats({1, 1, 1, 1}, {1})).node({"Conv", {"x", "w"}, {"y"}, {}, "", "c"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input).substr(0, 80),
            std::string("test.onnx: node 'c' (Conv, opset 17), input 'X': found shape 1x4, expected rank at least 3")
                .substr(0, 80));
}

TEST(ImportErrors, MissingInitializer) {
  auto builder = with_input();
  builder.node({"Add", {"x", "w"}, {"y"}, {}, "", "sum"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: node 'sum' (Add, opset 17), input 1: found 'w', which nothing makes, expected a graph input, "
            "an initializer or the output of "
            "an earlier node");
}

TEST(ImportErrors, Cycle) {
  auto builder = with_input();
  builder.node({"Add", {"x", "b"}, {"a"}, {}, "", "first"})
      .node({"Relu", {"a"}, {"b"}, {}, "", "second"})
      .node({"Relu", {"b"}, {"y"}, {}, "", "third"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: node 'first' (Add, opset 17), input 1: found 'b', which depends on this node: a cycle, "
            "expected a graph without cycles");
}

TEST(ImportErrors, NamesTwice) {
  auto builder = with_input();
  builder.node({"Relu", {"x"}, {"y"}, {}, "", "a"}).node({"Abs", {"x"}, {"y"}, {}, "", "b"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: node 'b' (Abs, opset 17): found the output 'y', a name that is taken, expected a new name");
  auto outputs = with_input();
  outputs.output("y").node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(outputs.import(), ErrorKind::invalid_input),
            "test.onnx: output 'y': found it twice, expected outputs of different names");
  auto inputs = with_input();
  inputs.input("x", DType::f32, {1}).node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(inputs.import(), ErrorKind::invalid_input),
            "test.onnx: input 'x': found it twice, expected inputs of different names");
  auto constants = with_input();
  constants.initializer("w", floats({1}, {1})).initializer("w", floats({1}, {2})).node({"Add", {"x", "w"}, {"y"}});
  EXPECT_EQ(errors_message_of(constants.import(), ErrorKind::invalid_input),
            "test.onnx: initializer 'w': found it twice, expected initializers of different names");
}

TEST(ImportErrors, ScalesThatAreNoScales) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [value, text] : {std::pair{std::nanf(""), "nan"}, {0.0f, "0"}, {-1.0f, "-1"}, {infinity, "inf"}}) {
    EXPECT_EQ(errors_message_of(quantizing(floats({}, {value})).import(), ErrorKind::invalid_input),
              std::string("test.onnx: node 'q' (QuantizeLinear, opset 17), input 1 (scale of 'y'): found the scale ") +
                  text + ", expected a finite number above 0");
  }
  EXPECT_NE(errors_message_of(quantizing(integers({}, {1})).import(), ErrorKind::invalid_input)
                .find("found elements of type s64, expected floats"),
            std::string::npos);
  EXPECT_NE(errors_message_of(quantizing(floats({3}, {1, 1, 1})).import(), ErrorKind::invalid_input).find("node 'q'"),
            std::string::npos);
}

TEST(ImportErrors, TypesThatAreNotOurs) {
  auto builder = with_input();
  auto* tensor = builder.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(22);
  tensor->add_dims(2);
  builder.node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::unsupported),
            "test.onnx: initializer 'w': found elements of type INT4, expected integers of 8 to 64 bits, floats of 16 "
            "to 64 bits or bool");
}

TEST(ImportErrors, HugeDimensions) {
  auto builder = with_input({1 << 20, 1 << 20, 1 << 20});
  builder.node({"Relu", {"x"}, {"y"}});
  EXPECT_NE(errors_message_of(builder.import(), ErrorKind::invalid_input)
                .find("found shape 1048576x1048576x1048576, expected at most 2^33 elements"),
            std::string::npos);
  auto weights = with_input();
  auto* tensor = weights.proto().mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(1);
  tensor->add_dims(I{1} << 32);
  weights.node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(weights.import(), ErrorKind::invalid_input),
            "test.onnx: initializer 'w': found 0 elements of data, expected 4294967296 (shape 4294967296)");
  auto expanded = with_input();
  expanded.initializer("dims", integers({3}, {I{1} << 40, I{1} << 40, 1}))
      .node({"Expand", {"x", "dims"}, {"y"}, {}, "", "e"});
  EXPECT_NE(errors_message_of(expanded.import(), ErrorKind::invalid_input).find("node 'e'"), std::string::npos);
}

TEST(ImportErrors, FoldingIsBounded) {
  auto builder = with_input();
  builder.initializer("c0", floats({1}, {1}));
  for (int i = 0; i < 60; ++i) {
    const std::string from = "c" + std::to_string(i), to = "c" + std::to_string(i + 1);
    builder.node({"Concat", {from, from}, {to}, {{"axis", I{0}}}, "", to});
  }
  builder.node({"Relu", {"c60"}, {"y"}});
  EXPECT_NE(errors_message_of(builder.import(), ErrorKind::invalid_input).find("(Concat, opset 17)"),
            std::string::npos);
}

TEST(ImportErrors, SymbolicDimensionsAskForShapes) {
  auto builder = with_input({1, 3, -1, -1});
  builder.node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::usage),
            "test.onnx: input 'x': found shape 1x3xNxN, expected known dimensions. Give them with --shape x=..., for "
            "example 1x3x224x224");
  EXPECT_TRUE(builder.import({.shapes = {{"x", {1, 3, 8, 8}}}}));
  EXPECT_NE(errors_message_of(builder.import({.shapes = {{"z", {1}}}}), ErrorKind::usage).find("x"), std::string::npos);
  auto fixed = with_input();
  fixed.node({"Relu", {"x"}, {"y"}});
  EXPECT_NE(errors_message_of(fixed.import({.batch = 4}), ErrorKind::usage).find("batch of 4"), std::string::npos);
}

TEST(ImportErrors, ShapesThatAreComputed) {
  auto builder = with_input();
  builder.input("dims", DType::s64, {2}).node({"Reshape", {"x", "dims"}, {"y"}, {}, "", "r"});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::unsupported),
            "test.onnx: node 'r' (Reshape, opset 17), input 'shape': found 'dims', which is computed at run time, "
            "expected a constant");
}

TEST(ImportErrors, OutputsThatNobodyMakes) {
  auto builder = with_input();
  builder.output("z").node({"Relu", {"x"}, {"y"}});
  EXPECT_EQ(errors_message_of(builder.import(), ErrorKind::invalid_input),
            "test.onnx: output 'z': found nothing that makes it, expected a node's output");
  auto indices = with_input();
  indices.node({"AveragePool", {"x"}, {"y", "at"}, {{"kernel_shape", Ints{2, 2}}}, "", "p"});
  EXPECT_EQ(
      errors_message_of(indices.import(), ErrorKind::unsupported),
      "test.onnx: node 'p' (AveragePool, opset 17), output 1: found 'at', which is asked for, expected it left out");
}

TEST(ImportErrors, SeveralProblemsAtOnce) {
  auto builder = with_input();
  builder.node({"Foo", {"x"}, {"a"}, {}, "", "n1"})
      .node({"Relu", {"x", "x"}, {"b"}, {}, "", "n2"})
      .node({"Add", {"a", "missing"}, {"y"}, {}, "", "n3"});
  const auto model = builder.import();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.errors().size(), 3u) << to_string(model.errors());
}

// External data.
class ImportExternal : public ::testing::Test {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    folder_ = fs::temp_directory_path() / ("octavo_import_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "model");
    write(folder_ / "model" / "data.bin");
    write(folder_ / "secret.bin");
    fs::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void write(const std::filesystem::path& path) {
    const float values[4] = {1, 2, 3, 4};
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof values);
  }
  Result<ImportedModel> import(const std::string& location, const std::string& offset = "4",
                               const std::string& length = "8") const {
    ModelBuilder builder(17);
    builder.input("x", DType::f32, {2}).output("y").node({"Add", {"x", "w"}, {"y"}});
    builder.external_initializer("w", DType::f32, {2}, {location, offset, length});
    return builder.import({}, folder_ / "model");
  }
  std::filesystem::path folder_;
};

TEST_F(ImportExternal, IsReadInsideTheFolder) {
  const auto model = import("data.bin");
  ASSERT_TRUE(model) << to_string(model.errors());
  const Graph& graph = model->graph;
  const ValueId w = graph.node(graph.order()[0]).inputs[1];
  EXPECT_EQ(as_floats(*graph.fact(w).constant), (std::vector<float>{2, 3}));
}

TEST_F(ImportExternal, NeverLeavesTheFolder) {
  for (const std::string& location : {std::string("../secret.bin"), (folder_ / "secret.bin").string(),
                                      std::string("link.bin"), std::string("a/../../secret.bin")}) {
    EXPECT_EQ(errors_message_of(import(location), ErrorKind::invalid_input),
              "test.onnx: initializer 'w', external data: found the location '" + location +
                  "', expected a file inside the model's folder");
  }
}

TEST_F(ImportExternal, ChecksRanges) {
  EXPECT_NE(errors_message_of(import("data.bin", "12"), ErrorKind::invalid_input)
                .find("found bytes 12 and 8 more of a file of 16"),
            std::string::npos);
  EXPECT_NE(errors_message_of(import("data.bin", "-1"), ErrorKind::invalid_input).find("the offset '-1'"),
            std::string::npos);
  EXPECT_NE(errors_message_of(import("data.bin", "9223372036854775807"), ErrorKind::invalid_input)
                .find("a range inside the file"),
            std::string::npos);
  EXPECT_NE(errors_message_of(import("data.bin", "0", "16"), ErrorKind::invalid_input)
                .find("a length of 16 bytes, expected 8"),
            std::string::npos);
  EXPECT_NE(errors_message_of(import("none.bin"), ErrorKind::resource).find("none.bin"), std::string::npos);
  EXPECT_NE(errors_message_of(import("."), ErrorKind::invalid_input).find("no regular file"), std::string::npos);
}

TEST(ImportFormat, IsToldByContent) {
  const std::string path = ::testing::TempDir() + "octavo_format_test";
  const auto kind_of = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    const auto model = import_model(path, {});
    return model ? ErrorKind::internal : model.errors().front().kind;
  };
  EXPECT_EQ(kind_of(std::string("\x1c\0\0\0TFL3", 8)), ErrorKind::invalid_input);
  EXPECT_EQ(kind_of("PK\x03\x04 and more"), ErrorKind::invalid_input);
  EXPECT_EQ(kind_of("GIF89a and more"), ErrorKind::invalid_input);
  EXPECT_EQ(kind_of(""), ErrorKind::invalid_input);
  std::filesystem::remove(path);
  EXPECT_EQ(errors_message_of(import_model(path, {}), ErrorKind::resource),
            path + ": found an error on opening (No such file or directory), expected a file that can be read");
  EXPECT_EQ(errors_message_of(import_model(::testing::TempDir(), {}), ErrorKind::resource),
            ::testing::TempDir() + ": found a folder, expected a model file");
}

}  // namespace
}  // namespace octavo::testing
