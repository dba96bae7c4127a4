// One small network through all four doors: ONNX QDQ, ONNX QOperator, TFLite and pt2e end as one list of operators.
// Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>

#include "import/import.h"
#include "lower/lower.h"
#include "support/tflite_builder.h"

namespace octavo::testing {
namespace {

// The network of tests/import/pt2/make.py, layer by layer; its weights mean nothing here.
class TfliteBlock {
 public:
  std::string bytes() {
    const int x = builder_.input({.name = "x", .dtype = DType::f32, .shape = {2, 16, 16, 3}});
    const int stem =
        layer(3, "stem", {node(114, "q", {x}, {2, 16, 16, 3}), weights({8, 3, 3, 3}), bias(8)}, {2, 8, 8, 8},
              tfl::BuiltinOptions::Conv2DOptions, options_of(tfl::CreateConv2DOptions, kSame, 2, 2, kRelu, 1, 1));
    const int pool = layer(17, "pool", {stem}, {2, 4, 4, 8}, tfl::BuiltinOptions::Pool2DOptions,
                           options_of(tfl::CreatePool2DOptions, kValid, 2, 2, 2, 2, kNone));
    const int depthwise = layer(4, "depthwise", {pool, weights({1, 3, 3, 8}, 3), bias(8)}, {2, 4, 4, 8},
                                tfl::BuiltinOptions::DepthwiseConv2DOptions,
                                options_of(tfl::CreateDepthwiseConv2DOptions, kSame, 1, 1, 1, kRelu, 1, 1));
    const int grouped =
        layer(3, "grouped", {depthwise, weights({8, 1, 3, 4}), bias(8)}, {2, 4, 4, 8},
              tfl::BuiltinOptions::Conv2DOptions, options_of(tfl::CreateConv2DOptions, kSame, 1, 1, kRelu, 1, 1));
    const int sum = node(0, "sum", {grouped, pool}, {2, 4, 4, 8});
    const int axes = builder_.constant(Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{1, 2}));
    const int mean = layer(40, "mean", {sum, axes}, {2, 8}, tfl::BuiltinOptions::ReducerOptions,
                           options_of(tfl::CreateReducerOptions, false));
    const int scores =
        layer(9, "scores", {mean, weights({5, 8}), bias(5)}, {2, 5}, tfl::BuiltinOptions::FullyConnectedOptions,
              options_of(tfl::CreateFullyConnectedOptions, kNone, std::int8_t{0}, false, false));
    const int y = builder_.output({.name = "y", .dtype = DType::f32, .shape = {2, 5}});
    builder_.add({.code = 6, .inputs = {scores}, .outputs = {y}});
    return builder_.bytes();
  }

 private:
  static constexpr std::int8_t kSame = 0, kValid = 1, kNone = 0, kRelu = 1;

  int weights(std::vector<std::int64_t> dims, int axis = 0) {
    Tensor values(DType::s8, Shape(dims));
    for (std::int64_t i = 0; i < values.elements(); ++i)
      values.as<std::int8_t>()[i] = static_cast<std::int8_t>(i % 120 - 60);
    const auto channels = static_cast<std::size_t>(dims[static_cast<std::size_t>(axis)]);
    return builder_.constant(values, std::vector<float>(channels, 0.01f), std::vector<std::int64_t>(channels, 0), axis);
  }
  int bias(std::int64_t channels) { return builder_.constant(Tensor(DType::s32, Shape{channels}), {0.001f}, {0}); }
  // Scales differ from layer to layer, but for those that the format says are equal.
  int node(int code, const std::string& name, std::vector<std::int32_t> inputs, std::vector<std::int32_t> shape) {
    return layer(code, name, std::move(inputs), std::move(shape), tfl::BuiltinOptions::NONE, {});
  }
  int layer(int code, const std::string& name, std::vector<std::int32_t> inputs, std::vector<std::int32_t> shape,
            tfl::BuiltinOptions kind, TfliteOptions options) {
    scale_ *= code == 17 ? 1.0f : 1.1f;
    const int y = builder_.tensor(
        {.name = name, .dtype = DType::s8, .shape = std::move(shape), .scale = {scale_}, .zero_point = {-128}});
    builder_.add(
        {.code = code, .inputs = std::move(inputs), .outputs = {y}, .kind = kind, .options = std::move(options)});
    return y;
  }

  TfliteBuilder builder_;
  float scale_ = 0.05f;
};

// Without transposes: images of ONNX and PyTorch files are channels first, those of TFLite files channels last.
std::vector<std::string> operators(Result<ImportedModel> model) {
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : to_string(model.errors()));
  if (!model) return {};
  const auto report = lower(model->graph, {.precision = Precision::int8});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : to_string(report.errors()));
  std::vector<std::string> names;
  for (const NodeId id : model->graph.order()) names.emplace_back(model->graph.node(id).spec->name);
  std::erase(names, "transpose");
  return names;
}

std::vector<std::string> of_file(const std::string& name) {
  return operators(import_model(std::string(OCTAVO_SOURCE_DIR) + "/tests/import/pt2/" + name, {.batch = 2}));
}

TEST(Twins, FourDoorsEndAsOneListOfOperators) {
  const std::vector<std::string> wanted = of_file("block_qdq.onnx");
  EXPECT_EQ(std::count(wanted.begin(), wanted.end(), "quantized_conv"), 4);
  EXPECT_EQ(of_file("block_qoperator.onnx"), wanted) << "ONNX QOperator";
  EXPECT_EQ(operators(import_tflite_text(TfliteBlock().bytes(), {.batch = 2})), wanted) << "TFLite";
  EXPECT_EQ(of_file("pt2e.pt2"), wanted) << "pt2e";
}

}  // namespace
}  // namespace octavo::testing
