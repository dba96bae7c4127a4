// Broken and hostile ONNX files, compiled by the program. Part of tests/errors/.
#include <cmath>
#include <limits>

#include "errors/broken_case.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using I = std::int64_t;
using Ints = std::vector<I>;
using Make = std::function<std::string()>;

constexpr const char* kCompile = "compile m.onnx -o m.octv --precision fp32";
constexpr const char* kCompileInt8 = "compile m.onnx -o m.octv";

BrokenCase onnx_bytes_case(std::string name, Make make, std::vector<std::string> parts, int exit_code = kInvalid,
                           std::string arguments = kCompile) {
  parts.push_back("m.onnx");
  return {std::move(name), [make = std::move(make)](const ScratchFolder& folder) { folder.write("m.onnx", make()); },
          std::move(arguments), exit_code, std::move(parts)};
}

// A model with input x f32[1,1,4,4] and output y.
BrokenCase graph_case(std::string name, std::function<void(ModelBuilder&)> make, std::vector<std::string> parts,
                      int exit_code = kInvalid, std::string arguments = kCompile) {
  const auto bytes = [make = std::move(make)] {
    ModelBuilder builder(17);
    builder.input("x", DType::f32, {1, 1, 4, 4}).output("y");
    make(builder);
    return builder.bytes();
  };
  return onnx_bytes_case(std::move(name), bytes, std::move(parts), exit_code, std::move(arguments));
}

std::string digits() { return source_file("examples/digits/digits.onnx"); }

ModelBuilder& quantized(ModelBuilder& builder, const Tensor& scale, const Tensor& zero_point) {
  return builder.initializer("s", scale)
      .initializer("z", zero_point)
      .node({"QuantizeLinear", {"x", "s", "z"}, {"q"}, {}, "", "quantizer"})
      .node({"DequantizeLinear", {"q", "s", "z"}, {"y"}, {}, "", "back"});
}

BrokenCase scale_case(const std::string& name, float scale, const std::string& found) {
  return graph_case(
      name, [scale](ModelBuilder& builder) { quantized(builder, floats({}, {scale}), Tensor(DType::u8, Shape{})); },
      {"'quantizer' (QuantizeLinear, opset 17)", "scale", found}, kInvalid, kCompileInt8);
}

std::vector<BrokenCase> broken_files() {
  return {
      onnx_bytes_case("EmptyFile", [] { return std::string(); }, {}),
      onnx_bytes_case("TextFile", [] { return std::string("# A readme, not a model\n"); }, {}),
      onnx_bytes_case("Picture", [] { return std::string("\x89PNG\r\n\x1a\n and so on"); }, {}),
      onnx_bytes_case("Truncated", [] { return digits().substr(0, digits().size() / 2); }, {"truncated"}),
      onnx_bytes_case("TruncatedByOneByte", [] { return digits().substr(0, digits().size() - 1); }, {}),
      onnx_bytes_case("LengthsRunPastTheEnd",
                      [] {
                        std::string bytes = digits();
                        for (std::size_t i = 0; i < bytes.size(); i += 97) bytes[i] = '\xff';
                        return bytes;
                      },
                      {}),
      onnx_bytes_case(
          "FlatBuffer", [] { return std::string("\x1c\0\0\0TFL3\0\0\0\0", 12); }, {}, kInvalid),
      onnx_bytes_case(
          "Opset6",
          [] {
            ModelBuilder builder(6);
            builder.input("x", DType::f32, {1}).output("y").node({"Relu", {"x"}, {"y"}});
            return builder.bytes();
          },
          {"opset 6", "7 to 28"}, kUnsupported),
      onnx_bytes_case("NoGraph", [] { return ModelBuilder(17).input("x", DType::f32, {1}).bytes(); }, {"outputs"}),
      graph_case("NoNodes", [](ModelBuilder&) {}, {"output 'y'"}),
  };
}

std::vector<BrokenCase> broken_graphs() {
  return {
      graph_case("Cycle",
                 [](ModelBuilder& builder) {
                   builder.node({"Add", {"x", "b"}, {"a"}, {}, "", "first"})
                       .node({"Relu", {"a"}, {"b"}, {}, "", "second"})
                       .node({"Relu", {"b"}, {"y"}});
                 },
                 {"'first' (Add, opset 17), input 1", "'b'", "cycle"}),
      graph_case("MissingInitializer",
                 [](ModelBuilder& builder) {
                   builder.node({"Conv", {"x", "weights"}, {"y"}, {}, "", "conv"});
                 },
                 {"'conv' (Conv, opset 17), input 1", "'weights'"}),
      graph_case(
          "WeightsOfTheWrongRank",
          [](ModelBuilder& builder) {
            builder.initializer("w", floats({2, 2}, {1, 2, 3, 4})).node({"Conv", {"x", "w"}, {"y"}, {}, "", "conv"});
          },
          {"'conv' (Conv, opset 17), input 'W'", "2x2"}),
      graph_case("KernelLargerThanTheImage",
                 [](ModelBuilder& builder) {
                   builder.initializer("w", Tensor(DType::f32, Shape{1, 1, 9, 9}))
                       .node({"Conv", {"x", "w"}, {"y"}, {}, "", "conv"});
                 },
                 {"'conv' (Conv, opset 17), kernel", "9 positions"}),
      graph_case("ShapesThatDoNotBroadcast",
                 [](ModelBuilder& builder) {
                   builder.initializer("c", floats({3}, {1, 2, 3})).node({"Add", {"x", "c"}, {"y"}, {}, "", "sum"});
                 },
                 {"'sum' (Add, opset 17)", "1x1x4x4 and 3"}),
      graph_case(
          "UnknownOperatorsAllListed",
          [](ModelBuilder& builder) {
            builder.node({"Foo", {"x"}, {"a"}, {}, "", "n1"})
                .node({"Bar", {"a"}, {"b"}, {}, "my.domain", "n2"})
                .node({"Loop", {"b"}, {"y"}, {}, "", "n3"});
            builder.opset_import("my.domain", 1);
          },
          {"Foo", "'n1'", "Bar", "'n2'", "Loop", "'n3'"}, kUnsupported),
      graph_case(
          "UnknownAttribute",
          [](ModelBuilder& builder) {
            builder.node({"Relu", {"x"}, {"y"}, {{"slope", 0.5f}}, "", "relu"});
          },
          {"'relu' (Relu, opset 17)", "'slope'"}, kUnsupported),
      graph_case("AttributeOfTheWrongType",
                 [](ModelBuilder& builder) {
                   builder.node({"Softmax", {"x"}, {"y"}, {{"axis", std::string("last")}}, "", "probabilities"});
                 },
                 {"'probabilities' (Softmax, opset 17)", "'axis'"}),
      graph_case("AxisOutOfRange",
                 [](ModelBuilder& builder) {
                   builder.node({"Softmax", {"x"}, {"y"}, {{"axis", I{7}}}, "", "probabilities"});
                 },
                 {"'probabilities' (Softmax, opset 17)", "axis", "7"}),
      graph_case("ZeroStride",
                 [](ModelBuilder& builder) {
                   builder.node(
                       {"MaxPool", {"x"}, {"y"}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{0, 1}}}, "", "pool"});
                 },
                 {"'pool' (MaxPool, opset 17)", "strides"}),
      graph_case(
          "NegativePads",
          [](ModelBuilder& builder) {
            builder.node(
                {"MaxPool", {"x"}, {"y"}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{-9, 0, 0, 0}}}, "", "pool"});
          },
          {"'pool' (MaxPool, opset 17)", "pads"}),
      graph_case(
          "HugeDilations",
          [](ModelBuilder& builder) {
            const I huge = std::numeric_limits<I>::max();
            builder.node(
                {"MaxPool", {"x"}, {"y"}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{huge, huge}}}, "", "pool"});
          },
          {"'pool' (MaxPool, opset 17), attribute 'dilations'"}),
      graph_case("ThreeGroupsOfOneChannel",
                 [](ModelBuilder& builder) {
                   builder.initializer("w", Tensor(DType::f32, Shape{3, 1, 1, 1}))
                       .node({"Conv", {"x", "w"}, {"y"}, {{"group", I{3}}}, "", "conv"});
                 },
                 {"'conv' (Conv, opset 17), groups"}),
      graph_case("TwoNodesMakeOneName",
                 [](ModelBuilder& builder) {
                   builder.node({"Relu", {"x"}, {"y"}, {}, "", "a"}).node({"Abs", {"x"}, {"y"}, {}, "", "b"});
                 },
                 {"'b' (Abs, opset 17)", "'y'"}),
      graph_case("InitializerTwice",
                 [](ModelBuilder& builder) {
                   builder.initializer("w", floats({1}, {1}))
                       .initializer("w", floats({1}, {2}))
                       .node({"Add", {"x", "w"}, {"y"}});
                 },
                 {"initializer 'w'", "twice"}),
      graph_case("ReshapeToAnotherSize",
                 [](ModelBuilder& builder) {
                   builder.initializer("dims", integers({2}, {5, 5}))
                       .node({"Reshape", {"x", "dims"}, {"y"}, {}, "", "reshape"});
                 },
                 {"'reshape' (Reshape, opset 17)", "5x5"}),
      graph_case(
          "ProblemsOfThreeNodesAtOnce",
          [](ModelBuilder& builder) {
            builder.node({"Foo", {"x"}, {"a"}, {}, "", "n1"})
                .node({"Relu", {"x", "x"}, {"b"}, {}, "", "n2"})
                .node({"Add", {"a", "missing"}, {"y"}, {}, "", "n3"});
          },
          {"'n1'", "'n2'", "'n3'", "'missing'"}, kUnsupported),
  };
}

std::vector<BrokenCase> broken_sizes() {
  return {
      graph_case("HugeInput",
                 [](ModelBuilder& builder) {
                   builder.input("huge", DType::f32, {I{1} << 40, I{1} << 40}).node({"Relu", {"huge"}, {"y"}});
                 },
                 {"input 'huge'", "elements"}),
      graph_case("HugeInitializerWithoutData",
                 [](ModelBuilder& builder) {
                   auto* tensor = builder.proto().mutable_graph()->add_initializer();
                   tensor->set_name("w");
                   tensor->set_data_type(1);
                   tensor->add_dims(I{1} << 32);
                   builder.node({"Add", {"x", "w"}, {"y"}});
                 },
                 {"initializer 'w'", "0 elements", "4294967296"}),
      graph_case("NegativeInitializer",
                 [](ModelBuilder& builder) {
                   auto* tensor = builder.proto().mutable_graph()->add_initializer();
                   tensor->set_name("w");
                   tensor->set_data_type(1);
                   tensor->add_dims(-4);
                   builder.node({"Add", {"x", "w"}, {"y"}});
                 },
                 {"initializer 'w'", "negative"}),
      graph_case("ExpandedBeyondMemory",
                 [](ModelBuilder& builder) {
                   builder.initializer("dims", integers({2}, {I{1} << 40, I{1} << 40}))
                       .node({"Expand", {"x", "dims"}, {"y"}, {}, "", "expand"});
                 },
                 {"'expand' (Expand, opset 17), input 'shape'"}),
      graph_case("DoubledSixtyTimes",
                 [](ModelBuilder& builder) {
                   builder.initializer("c0", floats({1}, {1}));
                   for (int i = 0; i < 60; ++i) {
                     const std::string from = "c" + std::to_string(i), to = "c" + std::to_string(i + 1);
                     builder.node({"Concat", {from, from}, {to}, {{"axis", I{0}}}, "", to});
                   }
                   builder.node({"Add", {"x", "c60"}, {"y"}});
                 },
                 {"(Concat, opset 17)"}),
      graph_case("PaddedBeyondMemory",
                 [](ModelBuilder& builder) {
                   const I huge = I{1} << 60;
                   builder.initializer("pads", integers({8}, {0, 0, huge, huge, 0, 0, huge, huge}))
                       .node({"Pad", {"x", "pads"}, {"y"}, {}, "", "pad"});
                 },
                 {"'pad' (Pad, opset 17)"}),
  };
}

std::vector<BrokenCase> broken_quantization() {
  return {
      scale_case("ScaleNaN", std::nanf(""), "nan"),
      scale_case("ScaleZero", 0.0f, "scale 0"),
      scale_case("ScaleNegative", -0.5f, "-0.5"),
      scale_case("ScaleInfinite", std::numeric_limits<float>::infinity(), "inf"),
      graph_case(
          "ZeroPointOfTheWrongType",
          [](ModelBuilder& builder) { quantized(builder, floats({}, {0.5f}), floats({}, {0})); },
          {"'quantizer' (QuantizeLinear, opset 17), input 2 (zero point of 'y')", "f32"}, kInvalid, kCompileInt8),
      graph_case(
          "ScalesForThreeOfOneChannel",
          [](ModelBuilder& builder) {
            quantized(builder, floats({3}, {1, 1, 1}), Tensor(DType::u8, Shape{3}));
          },
          {"'quantizer' (QuantizeLinear, opset 17)"}, kInvalid, kCompileInt8),
      graph_case(
          "ScaleAndZeroPointOfDifferentShapes",
          [](ModelBuilder& builder) { quantized(builder, floats({1}, {1}), Tensor(DType::u8, Shape{2})); },
          {"'quantizer' (QuantizeLinear, opset 17)"}, kInvalid, kCompileInt8),
      graph_case(
          "Fp32WithoutCalibration",
          [](ModelBuilder& builder) {
            builder.node({"Relu", {"x"}, {"y"}});
          },
          {"--calibrate"}, kUsage, kCompileInt8),
  };
}

class BrokenOnnx : public Broken {};
TEST_P(BrokenOnnx, IsRefusedByName) { check(); }
INSTANTIATE_TEST_SUITE_P(Files, BrokenOnnx, ::testing::ValuesIn(broken_files()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Graphs, BrokenOnnx, ::testing::ValuesIn(broken_graphs()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Quantization, BrokenOnnx, ::testing::ValuesIn(broken_quantization()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Sizes, BrokenOnnx, ::testing::ValuesIn(broken_sizes()), name_of_case);

// Whatever a bit of the file says, the program ends by itself with one of its exit codes.
TEST(BrokenOnnxFiles, FlippedBitsNeverCrash) {
  if (!has_program()) GTEST_SKIP() << "needs program: it was not built";
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {1, 1, 4, 4}).output("y").initializer("w", Tensor(DType::s8, Shape{2, 1, 3, 3}));
  builder.initializer("s", floats({}, {0.5f})).initializer("z", Tensor(DType::s8, Shape{}));
  builder.node({"QuantizeLinear", {"x", "s", "z"}, {"q"}})
      .node({"DequantizeLinear", {"q", "s", "z"}, {"d"}})
      .node({"DequantizeLinear", {"w", "s", "z"}, {"f"}})
      .node({"Conv", {"d", "f"}, {"y"}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}});
  const std::string bytes = builder.bytes();
  const ScratchFolder folder;
  constexpr std::size_t kFlips = 64;
  for (std::size_t flip = 0; flip < kFlips; ++flip) {
    const std::size_t bit = bytes.size() * 8 * flip / kFlips + flip % 8;
    std::string broken = bytes;
    broken[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    folder.write("m.onnx", broken);
    const Outcome outcome = run_program(folder, "compile m.onnx -o m.octv --calibrate random");
    const bool is_ours = outcome.exit_code == 0 || (outcome.exit_code >= kUsage && outcome.exit_code <= kResource);
    EXPECT_TRUE(is_ours) << "bit " << bit << ": exit code " << outcome.exit_code << "\n" << outcome.text;
    const bool is_named = outcome.exit_code == 0 || outcome.text.find("m.onnx") != std::string::npos;
    EXPECT_TRUE(is_named) << "bit " << bit << "\n" << outcome.text;
  }
}

}  // namespace
}  // namespace octavo::testing
