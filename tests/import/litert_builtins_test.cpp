// Operators that join others with LiteRT's own answers (tests/import/litert_builtins, made by
// scripts/make_litert_builtins.py): control flow, variables, and operators whose shapes or types LiteRT decides. Part
// of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/tensor.h"
#include "import/import.h"
#include "octavo/compile.h"
#include "octavo/run.h"
#include "ops/evaluate.h"
#include "support/answers.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

fs::path litert_builtins_folder() { return fs::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / "litert_builtins"; }

// Integers exactly, floats to a few units of the last place of a number as large as the tensor's are on average.
void litert_builtins_expect_near(const Tensor& ours, const Tensor& theirs) {
  double squares = 0.0;
  for (std::int64_t i = 0; i < theirs.elements(); ++i)
    squares += std::pow(element_as_double(theirs.view(), i), 2.0) / static_cast<double>(theirs.elements());
  const double size = std::isfinite(squares) ? std::max(1.0, std::sqrt(squares)) : 1.0;
  for (std::int64_t i = 0; i < ours.elements(); ++i) {
    const double a = element_as_double(ours.view(), i), b = element_as_double(theirs.view(), i);
    const double allowed = is_float(ours.dtype()) ? 2e-6 * std::max(size, std::abs(b)) : 0.0;
    EXPECT_TRUE(a == b || std::abs(a - b) <= allowed || (std::isnan(a) && std::isnan(b)))
        << i << ": " << a << ", " << b;
  }
}

// The inputs of a file, from its vector.
std::vector<Tensor> inputs_of(const ImportedModel& model, std::string& bytes) {
  std::vector<Tensor> inputs;
  if (!model.program) {
    for (const ValueId id : model.graph.inputs())
      inputs.push_back(taken(bytes, model.graph.fact(id).dtype, model.graph.fact(id).shape));
    return inputs;
  }
  const Program& program = model.program->program;
  for (const std::int32_t input : program.blocks[0].inputs) {
    const ProgramValue& value = program.values[static_cast<std::size_t>(input)];
    std::vector<std::int64_t> dims;
    for (const std::string& dim : value.shape) dims.push_back(std::stoll(dim));
    inputs.push_back(taken(bytes, value.dtype, Shape(dims)));
  }
  return inputs;
}

void check_litert_builtins(const std::string& name) {
  SCOPED_TRACE(name);
  const std::string file = contents(litert_builtins_folder() / (name + ".tflite"));
  std::string bytes = contents(litert_builtins_folder() / (name + ".bin"));
  // Weights of 8 bits beside floats stay so.
  const bool has_bytes = name.find("_bytes") != std::string::npos;
  auto compiled = v1::compile(std::as_bytes(std::span(file)), name + ".tflite",
                              {.precision = has_bytes ? Precision::int8 : Precision::fp32, .allow_reference = true});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  auto program = v1::Program::load(*compiled, {.threads = 1});
  ASSERT_TRUE(program.ok()) << to_string(program.errors());
  const auto model = import_model(std::as_bytes(std::span(file)), name, {});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const std::vector<Tensor> inputs = inputs_of(*model, bytes);
  std::vector<v1::ConstTensorRef> refs;
  for (const Tensor& input : inputs) refs.push_back({input.dtype(), input.shape().dims(), input.data()});
  const Status done = program->run(refs);
  ASSERT_TRUE(done.ok()) << to_string(done.errors());
  for (const v1::ProgramOutput& output : program->outputs()) {
    const Tensor ours =
        Tensor::copy_of({output.dtype, Shape(output.shape), static_cast<const std::byte*>(output.data)});
    litert_builtins_expect_near(ours, taken(bytes, ours.dtype(), ours.shape()));
  }
  EXPECT_TRUE(bytes.empty());
}

TEST(LiteRtBuiltins, AnswersAreThoseOfLiteRt) {
  EXPECT_GE(networks_in(litert_builtins_folder()).size(), 50u);
  for (const std::string& name : networks_in(litert_builtins_folder())) check_litert_builtins(name);
}

// 8-bit weights are read as floats where the precision says so: not far from what they are beside integers.
TEST(LiteRtBuiltins, LstmsWithBytesRunInFloats) {
  for (const std::string name : {"lstm_bytes", "lstm_bytes_asymmetric", "lstm_bytes_step", "lstm_two_ways_bytes"}) {
    const auto model =
        import_model((litert_builtins_folder() / (name + ".tflite")).string(), {.dequantizes_dynamic = true});
    ASSERT_TRUE(model.ok()) << to_string(model.errors());
    std::string bytes = contents(litert_builtins_folder() / (name + ".bin"));
    const auto answers = evaluate(model->graph, inputs_of(*model, bytes));
    ASSERT_TRUE(answers.ok()) << to_string(answers.errors());
    for (const Tensor& ours : *answers) {
      const Tensor theirs = taken(bytes, DType::f32, ours.shape());
      for (std::int64_t i = 0; i < ours.elements(); ++i)
        EXPECT_NEAR(ours.as<float>()[i], theirs.as<float>()[i], 0.02f) << name;
    }
  }
}

// What folding decides leaves one graph.
TEST(LiteRtBuiltins, ConditionsThatAreKnownVanish) {
  for (const std::string name : {"if_constant", "variables"}) {
    const auto model = import_model((litert_builtins_folder() / (name + ".tflite")).string(), {});
    ASSERT_TRUE(model.ok()) << to_string(model.errors());
    EXPECT_FALSE(model->program.has_value()) << name;
  }
  const auto model = import_model((litert_builtins_folder() / "if.tflite").string(), {});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  EXPECT_TRUE(model->program.has_value());
}

}  // namespace
}  // namespace octavo::testing
