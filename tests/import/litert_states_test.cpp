// What keeps values from run to run, with LiteRT's own answers (tests/import/litert_states, made by
// scripts/make_litert_states.py): inputs and outputs of the model behind the file's own. Part of the tests of import/.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/tensor.h"
#include "import/import.h"
#include "octavo/compile.h"
#include "octavo/run.h"
#include "support/answers.h"

namespace octavo::testing {
namespace {

constexpr std::size_t kInputs = 1;  // of each file

void litert_states_expect_near(const Tensor& ours, const Tensor& theirs) {
  const double allowed = is_float(ours.dtype()) ? 1e-5 : 0.0;
  for (std::int64_t i = 0; i < ours.elements(); ++i)
    EXPECT_NEAR(element_as_double(ours.view(), i), element_as_double(theirs.view(), i), allowed) << i;
}

Tensor zeros_of(const v1::TensorInfo& input) {
  Tensor made(input.dtype, Shape(input.shape));
  for (std::int64_t i = 0; i < made.elements(); ++i)
    store_double(made.view(), i, input.zero_point.empty() ? 0 : input.zero_point[0]);
  return made;
}

// Runs `name` as often as its vector says; outputs behind the file's own are the states of the next run.
void check_litert_states(const std::string& name, Precision precision) {
  const std::string folder = std::string(OCTAVO_SOURCE_DIR) + "/tests/import/litert_states/";
  const std::string file = contents(folder + name + ".tflite");
  std::string bytes = contents(folder + name + ".bin");
  const auto compiled = v1::compile(std::as_bytes(std::span(file)), name + ".tflite", {.precision = precision});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  auto program = v1::Program::load(*compiled, {.threads = 1});
  ASSERT_TRUE(program.ok()) << to_string(program.errors());
  const v1::ModelInfo info = program->info();
  std::vector<v1::TensorInfo> inputs;
  if (!info.plans.empty()) inputs = info.plans[0].inputs;
  for (const v1::OpenTensorInfo& open : info.plans.empty() ? info.open_inputs : std::vector<v1::OpenTensorInfo>{}) {
    inputs.push_back({.name = open.name, .dtype = open.dtype});
    for (const std::string& dim : open.shape) inputs.back().shape.push_back(std::stoll(dim));
  }
  ASSERT_GT(inputs.size(), kInputs);
  std::vector<Tensor> given;
  for (const v1::TensorInfo& input : inputs) given.push_back(zeros_of(input));
  while (!bytes.empty()) {
    for (std::size_t i = 0; i < kInputs; ++i) given[i] = taken(bytes, given[i].dtype(), given[i].shape());
    std::vector<v1::ConstTensorRef> refs;
    for (const Tensor& input : given) refs.push_back({input.dtype(), input.shape().dims(), input.data()});
    const Status done = program->run(refs);
    ASSERT_TRUE(done.ok()) << to_string(done.errors());
    const std::size_t own = program->outputs().size() - (inputs.size() - kInputs);
    for (std::size_t i = 0; i < program->outputs().size(); ++i) {
      const v1::ProgramOutput& output = program->outputs()[i];
      Tensor value = Tensor::copy_of({output.dtype, Shape(output.shape), static_cast<const std::byte*>(output.data)});
      if (i < own) {
        litert_states_expect_near(value, taken(bytes, value.dtype(), value.shape()));
        continue;
      }
      EXPECT_EQ(output.name, inputs[kInputs + i - own].name);
      given[kInputs + i - own] = std::move(value);
    }
  }
}

TEST(LiteRtStates, RunsGoOnWhereTheOneBeforeEnded) {
  check_litert_states("running_sum", Precision::fp32);
  check_litert_states("state_around_a_branch", Precision::fp32);
  check_litert_states("stream_of_bytes", Precision::int8);
  check_litert_states("svdf", Precision::fp32);
  check_litert_states("svdf_without_bias", Precision::fp32);
  check_litert_states("svdf_integer", Precision::fp32);
}

TEST(LiteRtStates, OthersThanZerosAreRefused) {
  std::string file = contents(std::string(OCTAVO_SOURCE_DIR) + "/tests/import/litert_states/stream_of_bytes.tflite");
  const std::size_t zeros = file.find(std::string(20, '\x80'));
  ASSERT_NE(zeros, std::string::npos);
  file[zeros + 3] = 1;
  const auto model = import_model(std::as_bytes(std::span(file)), "x.tflite", {});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(to_string(model.errors())
                .find("subgraph 1, operator 1 (ASSIGN_VARIABLE): found the state '/stream/rows', "
                      "which does not begin as zeros, expected zeros"),
            std::string::npos)
      << to_string(model.errors());
}

}  // namespace
}  // namespace octavo::testing
