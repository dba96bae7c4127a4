// Files as ONNX Runtime saves them after optimising, with its own answers (tests/import/ort_optimised, made by
// scripts/make_ort_optimised.py). Part of the tests of import/.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/tensor.h"
#include "import/import.h"
#include "octavo/compile.h"
#include "octavo/run.h"
#include "support/answers.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

fs::path ort_optimised_folder() { return fs::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / "ort_optimised"; }

// Integers exactly, floats to a few units of the last place.
void check_ort_optimised(const std::string& name) {
  SCOPED_TRACE(name);
  const std::string file = contents(ort_optimised_folder() / (name + ".onnx"));
  std::string bytes = contents(ort_optimised_folder() / (name + ".bin"));
  const Precision precision = name == "quantized" ? Precision::int8 : Precision::fp32;
  auto compiled = v1::compile(std::as_bytes(std::span(file)), name + ".onnx", {.precision = precision});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  auto program = v1::Program::load(*compiled, {.threads = 1});
  ASSERT_TRUE(program.ok()) << to_string(program.errors());
  std::vector<Tensor> inputs;
  const v1::ModelInfo info = compiled->info();
  for (const v1::TensorInfo& input : info.plans[0].inputs)
    inputs.push_back(taken(bytes, input.dtype, Shape(input.shape)));
  std::vector<v1::ConstTensorRef> refs;
  for (const Tensor& input : inputs) refs.push_back({input.dtype(), input.shape().dims(), input.data()});
  const Status done = program->run(refs);
  ASSERT_TRUE(done.ok()) << to_string(done.errors());
  for (const v1::ProgramOutput& output : program->outputs()) {
    const Tensor theirs = taken(bytes, output.dtype, Shape(output.shape));
    const ConstTensorView ours{output.dtype, theirs.shape(), static_cast<const std::byte*>(output.data)};
    for (std::int64_t i = 0; i < theirs.elements(); ++i) {
      const double a = element_as_double(ours, i), b = element_as_double(theirs.view(), i);
      EXPECT_LE(std::abs(a - b), is_float(output.dtype) ? 1e-5 * std::max(1.0, std::abs(b)) : 0.0) << i;
    }
  }
  EXPECT_TRUE(bytes.empty());
}

TEST(OrtOptimised, AnswersAreThoseOfOnnxRuntime) {
  for (const char* name :
       {"blocks", "conv_clip", "gemm_hardsigmoid", "gemm_leakyrelu", "gemm_relu", "gemm_tanh", "quantized"})
    check_ort_optimised(name);
}

// The file does not say how many channels are in a block; these tell.
TEST(OrtOptimised, BlocksAreToldByChannels) {
  const auto model = import_model((ort_optimised_folder() / "blocks.onnx").string(), {});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  EXPECT_EQ(model->dialect, "ONNX fp32, weights in blocks of 16 channels");
}

TEST(OrtOptimised, BlocksOfWeightsThatAreComputedAreRefused) {
  ModelBuilder builder(17);
  builder.opset_import("com.microsoft.nchwc", 1);
  builder.input("x", DType::f32, {1, 3, 4, 4}).input("w", DType::f32, {16, 3, 1, 1}).output("y");
  builder.node({"Conv", {"x", "w"}, {"y"}, {}, "com.microsoft.nchwc", "c"});
  const auto model = builder.import();
  ASSERT_FALSE(model.ok());
  const std::string error = to_string(model.errors());
  EXPECT_NE(error.find("input 'W': found weights in blocks that are no initializer"), std::string::npos) << error;
}

TEST(OrtOptimised, ItsOwnFormatIsNamed) {
  const std::string bytes("\x28\0\0\0ORTM\x0c\0\x10\0", 12);
  const auto model = import_model(std::as_bytes(std::span(bytes)), "m.ort", {});
  ASSERT_FALSE(model.ok());
  const std::string error = to_string(model.errors());
  EXPECT_NE(error.find("m.ort: found a model in ONNX Runtime's own format (.ort)"), std::string::npos) << error;
  EXPECT_NE(error.find("optimized_model_filepath"), std::string::npos) << error;
}

}  // namespace
}  // namespace octavo::testing
