// Files as ONNX Runtime saves them after optimising, also in its own format, with its own answers
// (tests/import/ort_optimised, made by scripts/make_ort_optimised.py). Part of the tests of import/.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/tensor.h"
#include "import/import.h"
#include "import/onnx/ort_schema_generated.h"
#include "octavo/compile.h"
#include "octavo/run.h"
#include "support/answers.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

namespace ort = onnx_import::ort;
namespace fs = std::filesystem;

fs::path ort_optimised_folder() { return fs::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / "ort_optimised"; }

// Of sizes that are numbers, whether the model is a plan or has several parts.
std::vector<Tensor> ort_optimised_inputs(const v1::ModelInfo& info, std::string& bytes) {
  std::vector<Tensor> inputs;
  if (!info.plans.empty()) {
    for (const v1::TensorInfo& input : info.plans[0].inputs)
      inputs.push_back(taken(bytes, input.dtype, Shape(input.shape)));
  }
  for (const v1::OpenTensorInfo& input : info.open_inputs) {
    std::vector<std::int64_t> dims;
    for (const std::string& extent : input.shape) dims.push_back(std::stoll(extent));
    inputs.push_back(taken(bytes, input.dtype, Shape(dims)));
  }
  return inputs;
}

// Integers exactly, floats to a few units of the last place.
void check_ort_optimised(const std::string& name, const std::string& extension = ".onnx") {
  SCOPED_TRACE(name + extension);
  const std::string file = contents(ort_optimised_folder() / (name + extension));
  std::string bytes = contents(ort_optimised_folder() / (name + ".bin"));
  const Precision precision = name == "quantized" ? Precision::int8 : Precision::fp32;
  auto compiled = v1::compile(std::as_bytes(std::span(file)), name + extension, {.precision = precision});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  auto program = v1::Program::load(*compiled, {.threads = 1});
  ASSERT_TRUE(program.ok()) << to_string(program.errors());
  const std::vector<Tensor> inputs = ort_optimised_inputs(compiled->info(), bytes);
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
       {"blocks", "branches", "conv_clip", "gemm_hardsigmoid", "gemm_leakyrelu", "gemm_relu", "gemm_tanh", "quantized"})
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

TEST(OrtFormat, AnswersAreThoseOfOnnxRuntime) {
  for (const char* name : {"branches", "quantized"}) check_ort_optimised(name, ".ort");
}

Result<ImportedModel> import_ort(const std::string& bytes) {
  return import_model(std::as_bytes(std::span(bytes)), "m.ort", {});
}

std::string ort_file(const std::string& name) { return contents(ort_optimised_folder() / (name + ".ort")); }

// From a file and from its bytes, wherever these lie.
TEST(OrtFormat, IsTheModelOfTheOnnxFile) {
  for (const std::string name : {"branches", "quantized"}) {
    const auto ours = import_model((ort_optimised_folder() / (name + ".ort")).string(), {});
    const auto theirs = import_model((ort_optimised_folder() / (name + ".onnx")).string(), {});
    ASSERT_TRUE(ours.ok() && theirs.ok()) << to_string(ours.errors());
    EXPECT_EQ(ours->dialect, theirs->dialect);
    EXPECT_EQ(ours->source_nodes, theirs->source_nodes);
    const std::string shifted = " " + ort_file(name);
    EXPECT_TRUE(import_model(std::as_bytes(std::span(shifted)).subspan(1), "m.ort", {}).ok());
  }
}

TEST(OrtFormat, TruncatedFilesAreErrors) {
  constexpr std::size_t kPadding = 2;  // at the end
  const std::string bytes = ort_file("branches");
  for (std::size_t size = 8; size < bytes.size() - kPadding; ++size) {
    const auto model = import_ort(bytes.substr(0, size));
    ASSERT_FALSE(model.ok()) << size;
    ASSERT_NE(to_string(model.errors()).find("m.ort: found "), std::string::npos) << size;
  }
}

// Each bit alone: an error or another model, never a crash or much memory.
TEST(OrtFormat, FlippedBitsAreErrorsOrOtherModels) {
  std::string bytes = ort_file("branches");
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      refused += import_ort(bytes).ok() ? 0 : 1;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(OrtFormat, OtherVersionsAreRefused) {
  std::string bytes = ort_file("branches");
  const std::string version("\1\0\0\0006\0", 6);
  const std::size_t at = bytes.rfind(version);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 4] = '7';
  const auto model = import_ort(bytes);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.errors().front().kind, ErrorKind::unsupported);
  EXPECT_NE(to_string(model.errors()).find("version '7' of ONNX Runtime's format (.ort)"), std::string::npos);
}

// A list of one string, many times: what a file says in 4 bytes takes 4 KB.
TEST(OrtFormat, DataThatIsNamedManyTimesIsAnError) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(4096, 'n'));
  const auto names = builder.CreateVector(std::vector(4096, name));
  const auto graph = ort::CreateGraph(builder, 0, 0, 0, names, names);
  const auto version = builder.CreateString("6");
  const auto model = ort::CreateModel(builder, 8, 0, 0, 0, graph);
  ort::FinishInferenceSessionBuffer(builder, ort::CreateInferenceSession(builder, version, model));
  const std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  const auto read = import_ort(bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(to_string(read.errors()).find("more data in its parts than in all"), std::string::npos)
      << to_string(read.errors());
}

}  // namespace
}  // namespace octavo::testing
