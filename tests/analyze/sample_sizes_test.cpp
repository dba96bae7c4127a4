// Models of open sizes and samples of several: what decides the meaning of the file, and what is run at which size.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "analyze/session.h"
#include "analyze/variant_bench.h"
#include "data/npy.h"
#include "support/child.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

class ModelSampleSizes : public ::testing::Test {
 protected:
  Tensor random(const Shape& shape, float scale) {
    std::normal_distribution<float> normal(0.0f, scale);
    Tensor tensor(DType::f32, shape);
    for (float& value : tensor.span<float>()) value = normal(random_);
    return tensor;
  }
  // x [N, 3, H, W] -> means of two convolutions [N, 6].
  std::string pyramid() {
    testing::ModelBuilder model;
    model.input("x", DType::f32, {-1, 3, -2, -3})
        .initializer("v", random({8, 3, 3, 3}, 0.3f))
        .initializer("w", random({6, 8, 3, 3}, 0.2f));
    model.node({.op = "Conv", .inputs = {"x", "v"}, .outputs = {"a"}, .name = "first"})
        .node({.op = "Relu", .inputs = {"a"}, .outputs = {"b"}, .name = "relu"})
        .node({.op = "Conv", .inputs = {"b", "w"}, .outputs = {"c"}, .name = "second"})
        .node({.op = "GlobalAveragePool", .inputs = {"c"}, .outputs = {"d"}, .name = "mean"})
        .node({.op = "Flatten", .inputs = {"d"}, .outputs = {"y"}, .name = "flat"})
        .output("y");
    folder_.write("m.onnx", model.bytes());
    return folder_.path("m.onnx");
  }
  // Files in a folder of that name.
  std::string samples(const std::string& name, const std::vector<Shape>& shapes) {
    std::filesystem::create_directories(folder_.path(name));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::string path = folder_.path(name + "/" + std::to_string(i) + ".npy");
      EXPECT_TRUE(write_npy(path, random(shapes[i], 1.0f).view()));
    }
    return folder_.path(name);
  }
  static CompileRequest taught_by(const std::string& path) {
    CompileRequest request;
    request.calibrate = path;
    return request;
  }
  // Signal to noise ratio, in dB, of the first output at inputs of this shape.
  double likeness(const v1::CompiledModel& one, const v1::CompiledModel& reference, const Shape& shape) {
    const std::vector<Tensor> inputs{random(shape, 1.0f)};
    std::vector<std::vector<float>> answers;
    for (const v1::CompiledModel* model : {&one, &reference}) {
      auto session = Session::create(*model, {.shapes = {{"x", shape.to_vector()}}}, 1);
      EXPECT_TRUE(session) << to_string(session.errors());
      if (!session || !session->take(inputs) || !session->run()) return -INFINITY;
      answers.push_back(to_floats(session->outputs()[0].view()));
    }
    double signal = 0.0, noise = 0.0;
    for (std::size_t i = 0; i < answers[0].size(); ++i) {
      signal += std::pow(answers[1][i], 2);
      noise += std::pow(answers[1][i] - answers[0][i], 2);
    }
    return 10.0 * std::log10(signal / noise);
  }

  testing::ScratchFolder folder_;
  std::mt19937 random_{3};
};

TEST_F(ModelSampleSizes, OneCalibrationOverManySizes) {
  const std::string model = pyramid();
  const std::vector<Shape> shapes = {{1, 3, 20, 31}, {1, 3, 9, 64}, {1, 3, 9, 64}, {4, 3, 33, 17}, {1, 3, 48, 40}};
  const auto int8 = open_or_compile(model, taught_by(samples("many", shapes)));
  ASSERT_TRUE(int8) << to_string(int8.errors());
  CompileRequest exact;
  exact.options.precision = Precision::fp32;
  const auto fp32 = open_or_compile(model, exact);
  ASSERT_TRUE(fp32) << to_string(fp32.errors());
  for (const Shape& shape : shapes) EXPECT_GT(likeness(*int8, *fp32, shape), 25.0) << shape.to_string();
  EXPECT_GT(likeness(*int8, *fp32, {2, 3, 71, 55}), 25.0);
}

// Where plans are of examples these are the shapes that most samples have, in fp32, too.
TEST_F(ModelSampleSizes, ExamplesAreWhatMostSamplesAre) {
  const std::string model = pyramid();
  CompileRequest request = taught_by(samples("many", {{1, 3, 20, 31}, {1, 3, 9, 64}, {1, 3, 9, 64}}));
  request.plans_examples = true;
  for (const Precision precision : {Precision::int8, Precision::fp32}) {
    request.options.precision = precision;
    const auto compiled = open_or_compile(model, request);
    ASSERT_TRUE(compiled) << to_string(compiled.errors());
    ASSERT_EQ(compiled->info().plans.size(), 1u);
    EXPECT_EQ(compiled->info().plans[0].inputs[0].shape, (std::vector<std::int64_t>{1, 3, 9, 64}));
  }
}

// A product with all of a picture has a meaning at one size alone, which is not square: nothing but the samples says
// it.
TEST_F(ModelSampleSizes, SamplesSayTheSizeAtWhichTheFileHasAMeaning) {
  testing::ModelBuilder model;
  model.input("x", DType::f32, {-1, 3, -2, -3})
      .initializer("v", random({4, 3, 8, 8}, 0.1f))
      .initializer("w", random({4 * 12 * 16, 10}, 0.1f));
  model
      .node({.op = "Conv",
             .inputs = {"x", "v"},
             .outputs = {"a"},
             .attributes = {{"strides", std::vector<std::int64_t>{8, 8}}},
             .name = "patches"})
      .node({.op = "Relu", .inputs = {"a"}, .outputs = {"b"}, .name = "relu"})
      .node({.op = "Flatten", .inputs = {"b"}, .outputs = {"c"}, .name = "flat"})
      .node({.op = "MatMul", .inputs = {"c", "w"}, .outputs = {"y"}, .name = "all"})
      .output("y");
  folder_.write("all.onnx", model.bytes());
  CompileRequest unknown;
  unknown.options.precision = Precision::fp32;
  EXPECT_FALSE(open_or_compile(folder_.path("all.onnx"), unknown));
  const auto known = open_or_compile(folder_.path("all.onnx"), taught_by(samples("few", {{1, 3, 96, 128}})));
  ASSERT_TRUE(known) << to_string(known.errors());
  const auto fitting = Session::create(*known, {.shapes = {{"x", {2, 3, 96, 128}}}}, 1);
  EXPECT_TRUE(fitting) << to_string(fitting.errors());
  // Another sample does not go with it.
  const auto refused =
      open_or_compile(folder_.path("all.onnx"), taught_by(samples("few", {{1, 3, 96, 128}, {1, 3, 64, 64}})));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].kind, ErrorKind::invalid_input);
  EXPECT_EQ(refused.errors()[0].where.find(folder_.path("few/1.npy")), 0u) << to_string(refused.errors());
  EXPECT_NE(to_string(refused.errors()).find("'all'"), std::string::npos) << to_string(refused.errors());
}

TEST_F(ModelSampleSizes, ASearchRunsEachSampleAtItsSize) {
  const std::string model = pyramid();
  CompileRequest request = taught_by(samples("many", {{1, 3, 20, 31}, {1, 3, 9, 64}, {1, 3, 9, 64}, {1, 3, 48, 40}}));
  request.seconds = 0.01;
  request.threads = 1;
  auto bench = VariantBench::create(model, request);
  ASSERT_TRUE(bench) << to_string(bench.errors());
  const Status judged = bench->open_samples_to_judge("", "", {});
  ASSERT_TRUE(judged) << to_string(judged.errors());
  EXPECT_EQ(bench->samples(), 4);
  EXPECT_EQ(bench->in_fp32().agreeing, 4);
  EXPECT_EQ(bench->in_fp32().noise, 0.0);
  const auto int8 = bench->judge({});
  ASSERT_TRUE(int8) << to_string(int8.errors());
  EXPECT_GT(int8->noise, 0.0);
  EXPECT_LT(int8->noise, 0.01);
}

TEST_F(ModelSampleSizes, ASessionTakesTheShapesOfItsSamples) {
  CompileRequest request;
  request.options.precision = Precision::fp32;
  const auto compiled = open_or_compile(pyramid(), request);
  ASSERT_TRUE(compiled);
  auto session = Session::create(*compiled, {.shapes = {{"x", {1, 3, 12, 12}}}}, 1);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->take({random({3, 3, 20, 8}, 1.0f)}));
  EXPECT_EQ(session->outputs()[0].shape(), (Shape{3, 6}));
  EXPECT_EQ(session->plan().batch, 3);
  EXPECT_TRUE(session->run());
  const auto inputs = session->sample_inputs();
  EXPECT_EQ(inputs.at(0).shape_text(), "Nx3xN2xN3");
  EXPECT_EQ(inputs.at(0).shape, (Shape{1, 3, 20, 8}));
  EXPECT_FALSE(session->take({random({3, 4, 20, 8}, 1.0f)}));
  EXPECT_TRUE(session->run());  // as it was
}

}  // namespace
}  // namespace octavo
