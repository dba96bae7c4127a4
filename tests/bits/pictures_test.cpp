// Networks that take pictures as they are: the bits of preprocessing outside, and no picture in f32 inside an int8
// plan. Part of the tests of whole models.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include "bits/dialect_net.h"
#include "bits/same_bits.h"
#include "pictures/input_spec.h"
#include "run/access.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

Tensor random_pictures(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor pictures(DType::u8, shape);
  for (std::uint8_t& pixel : pictures.span<std::uint8_t>()) pixel = static_cast<std::uint8_t>(random());
  return pictures;
}

Picture image_of(const Tensor& pictures, std::int64_t index) {
  const Shape& shape = pictures.shape();
  Picture image{static_cast<int>(shape[2]), static_cast<int>(shape[1]), {}};
  const std::int64_t pixels = shape[1] * shape[2], channels = shape[3];
  const std::uint8_t* from = pictures.as<std::uint8_t>() + index * pixels * channels;
  for (std::int64_t i = 0; i < 3 * pixels; ++i) image.rgb.push_back(from[channels == 3 ? i : i / 3]);
  return image;
}

// What is done outside for a network without pictures.
Tensor preprocessed(const Tensor& pictures, const Preprocess& preprocess, const v1::TensorInfo& input) {
  const std::int64_t batch = pictures.shape()[0];
  Tensor all(input.dtype, Shape(input.shape));
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto one = pixels_to_input(image_of(pictures, i), preprocess, input_spec(input, batch));
    EXPECT_TRUE(one) << to_string(one.errors());
    if (one) std::copy_n(one->data(), one->bytes(), all.data() + static_cast<std::size_t>(i) * one->bytes());
  }
  return all;
}

// What is made of the pictures pixel by pixel, as f32.
int float_pictures(const Plan& plan) {
  std::set<ValueIndex> pictures = {plan.inputs[0].value};
  int count = 0;
  for (const PlanStep& step : plan.steps) {
    const bool is_by_pixel = step.op == "table" || step.op == "channel_table" || step.op == "dequantize" ||
                             step.op == "quantize" || step.op == "transpose" || step.op == "cast";
    if (!is_by_pixel || !pictures.contains(step.inputs[0])) continue;
    pictures.insert(step.outputs[0]);
    count += plan.value(step.outputs[0]).dtype == DType::f32 ? 1 : 0;
  }
  return count;
}

bool has_step(const Plan& plan, std::string_view op) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) { return step.op == op; });
}

// Compiled with and without pictures: the same answers. Gives the plan that takes pictures.
Plan expect_same_answers(const std::string& path, const std::string& spec, v1::CompileOptions options) {
  const auto outside = v1::compile(path, options);
  options.pictures = spec;
  const auto inside = v1::compile(path, options);
  EXPECT_TRUE(outside && inside) << (outside ? to_string(inside.errors()) : to_string(outside.errors()));
  if (!outside || !inside) return {};
  EXPECT_EQ(inside->info().pictures, spec);
  const auto plain = v1::Model::load(*outside), folded = v1::Model::load(*inside);
  EXPECT_TRUE(plain && folded);
  for (std::size_t i = 0; i < inside->info().plans.size(); ++i) {
    const v1::TensorInfo taken = inside->info().plans[i].inputs[0], wanted = outside->info().plans[i].inputs[0];
    EXPECT_EQ(taken.dtype, DType::u8);
    EXPECT_EQ(taken.name, wanted.name);
    const Tensor pictures = random_pictures(Shape(taken.shape), static_cast<unsigned>(i) + 1);
    const auto answers = run(*folded, i, {pictures});
    EXPECT_EQ(answers, run(*plain, i, {preprocessed(pictures, *parse_preprocess(spec), wanted)})) << "plan " << i;
  }
  return v1::Access::of(*inside).plans[0];
}

const char* const kSpecs[] = {"torch", "tf", "bgr", "raw", "mean=90,100,140,std=60,55,61", "tfq,order=grey"};

TEST(Pictures, QuantizedFilesOfEveryDialect) {
  for (const Dialect& dialect : kDialects) {
    for (const Ends ends : {Ends::floats, Ends::integers}) {
      const ModelFile file(dialect_network(dialect, ends));
      for (const char* spec : kSpecs) {
        SCOPED_TRACE(name_of(dialect) + (ends == Ends::floats ? ", f32 ends, " : ", 8-bit ends, ") + spec);
        const Plan plan = expect_same_answers(file.path(), spec, {.batches = {1, 3}});
        EXPECT_EQ(float_pictures(plan), 0);
        EXPECT_TRUE(plan.report.islands.empty());
        EXPECT_FALSE(has_step(plan, "transpose"));
      }
    }
  }
}

TEST(Pictures, CalibratedFiles) {
  Net net(3);
  const std::string stem = net.conv(net.input("image", DType::f32, {3, 17, 19}), {.in = 3, .out = 8, .kernel = 3});
  net.output(net.op("Flatten", {net.op("GlobalAveragePool", {net.op("Relu", {stem})})}));
  const ModelFile file(net.builder());
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    for (const bool integer_only : {false, true}) {
      const Plan plan = expect_same_answers(
          file.path(), spec, {.batches = {2, 1}, .samples = random_samples(4), .integer_only = integer_only});
      EXPECT_EQ(float_pictures(plan), 0);
    }
    // One step in front of the first convolution.
    const Plan floats = expect_same_answers(file.path(), spec, {.precision = Precision::fp32, .batches = {1, 3}});
    EXPECT_TRUE(floats.steps[0].op == "channel_table" || floats.steps[0].op == "table") << floats.steps[0].op;
    EXPECT_FALSE(has_step(floats, "transpose"));
  }
}

TEST(Pictures, GreyOnes) {
  for (const char* spec : {"tf", "mean=33,std=70", "raw"}) {
    const Plan plan = expect_same_answers(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx", spec,
                                          {.batches = {1, 4}, .samples = random_samples(4)});
    EXPECT_EQ(plan.input(0).shape.back(), 1);
    EXPECT_EQ(float_pictures(plan), 0);
  }
}

// A scale that is the pictures' own: nothing is left to do.
TEST(Pictures, GoStraightIntoTheFirstConvolution) {
  const auto network = [](DType type, int zero_point) {
    DialectNet net({Form::qdq, type}, 5);
    const Scale scale{0.00784313678741455f, zero_point};
    const Quantized x = net.quantize(net.net().input("x", DType::f32, {3, 9, 9}), scale);
    net.net().output(net.dequantize(net.conv(x, {.in = 3, .out = 8, .kernel = 3}, {0.02f, 100})));
    return net.net().builder();
  };
  for (const DType type : {DType::u8, DType::s8}) {
    const ModelFile file(network(type, 127));
    const Plan plan = expect_same_answers(file.path(), "tfq", {});
    ASSERT_FALSE(plan.steps.empty());
    EXPECT_EQ(plan.steps[0].op, "quantized_conv");
    EXPECT_EQ(plan.steps[0].inputs[0], plan.inputs[0].value);
    // One less: a table is left.
    const ModelFile other(network(type, 126));
    EXPECT_EQ(expect_same_answers(other.path(), "tfq", {}).steps[0].op, "table");
  }
}

// Channels last, 8-bit inputs with scales of their own.
TEST(Pictures, TfliteFiles) {
  for (const char* file : {"conv_s8", "conv_u8", "depthwise_conv_s8"}) {
    const std::string path = std::string(OCTAVO_SOURCE_DIR "/tests/import/litert/") + file + ".tflite";
    for (const char* spec : kSpecs) {
      SCOPED_TRACE(std::string(file) + ", " + spec);
      EXPECT_EQ(float_pictures(expect_same_answers(path, spec, {.batches = {1, 2}})), 0);
    }
  }
}

// The first layer in fp32 by choice, the rest in integers: it reads f32, made of the pictures in one step.
TEST(Pictures, LayersKeptInFloat) {
  const ModelFile file(dialect_network({Form::qdq, DType::u8}, Ends::floats));
  const Plan plan = expect_same_answers(file.path(), "torch", {.skip = {"position:first"}});
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_EQ(plan.steps[0].op, "channel_table");
}

struct RealModel {
  const char* file;
  const char* spec;
};
constexpr RealModel kRealModels[] = {
    {"squeezenet1_1_ort_qdq_s8s8_perch.onnx", "bgr"},
    {"squeezenet1_1_ort_qop_u8u8_pertensor.onnx", "bgr"},
    {"mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx", "torch"},
    {"mobilenet_v2_torchvision_ort_qop_u8s8_perch.onnx", "torch"},
    {"mobilenet_v2_tf2ptq_qdq.onnx", "tfq"},
    {"tf2_mobilenet_v2_1.0_224_ptq.tflite", "raw"},
    {"mobilenet_v1_0.25_128_quant.tflite", "raw"},
    {"cifar10_resnet20_ort_qop_u8s8_perch.onnx", "torch"},
    {"mlperf_ic_resnet8_int8.tflite", "raw"},
    {"mlperf_vww96_int8.tflite", "scale=0.003921569"},
    {"mobilenet_v1_0.25_224_fp32.onnx", "tf"},
    {"cifar10_resnet56_fp32.onnx", "torch"},
    {"mlperf_ic_resnet8_fp32.tflite", "raw"},
};

TEST(Pictures, RealModels) {
  const char* data = std::getenv("OCTAVO_DATA");
  const fs::path folder =
      (data != nullptr ? fs::path(data) : fs::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data") / "models";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs models at " << folder;
  for (const RealModel& model : kRealModels) {
    SCOPED_TRACE(model.file);
    const std::string path = (folder / model.file).string();
    const Plan plan = expect_same_answers(
        path, model.spec, {.precision = Precision::int8, .samples = random_samples(1), .corrects_biases = false});
    EXPECT_EQ(float_pictures(plan), 0);
    expect_same_answers(path, model.spec, {.precision = Precision::fp32});
  }
}

}  // namespace
}  // namespace octavo::testing
