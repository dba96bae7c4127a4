// octavo reduce. Part of tests/cli/.
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/fixture.h"
#include "import/onnx/proto.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class Reduced : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(path("tmp"));
  }

  void write_chain(const std::vector<std::string>& types) const {
    testing::ModelBuilder model;
    model.input("x", DType::f32, {2, 3});
    std::string last = "x";
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string next = "t" + std::to_string(i);
      model.node({types[i], {last}, {next}, {}, "", "n" + std::to_string(i)});
      last = next;
    }
    ASSERT_TRUE(write_text(path("m.onnx"), model.output(last).bytes()));
  }

  // Nothing but the result is left, however it ends.
  testing::Outcome reduce(const std::string& arguments, const std::string& before = "timeout 120 ") const {
    fs::remove(path("s.onnx"));
    testing::Outcome outcome =
        testing::run_command(folder_, "TMPDIR=tmp " + before + "octavo reduce m.onnx -o s.onnx " + arguments);
    for (const auto& entry : fs::directory_iterator(path("tmp")))
      EXPECT_FALSE(entry.path().filename().string().starts_with("octavo")) << arguments;
    return outcome;
  }

  std::vector<std::string> small_types() const {
    std::vector<std::string> types;
    const auto model = onnx_import::parse_model_file(path("s.onnx"));
    EXPECT_TRUE(model);
    if (!model) return types;
    for (const auto& node : model->graph().node()) types.push_back(node.op_type());
    return types;
  }

  void expect_refused(const std::string& arguments, int exit_code, const std::string& part) const {
    const testing::Outcome outcome = reduce(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.text;
    EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
    EXPECT_FALSE(fs::exists(path("s.onnx")));
  }

  const std::vector<std::string> types_ = {"Relu", "Neg", "Softsign", "Abs", "Neg", "Relu"};
};

using Types = std::vector<std::string>;

TEST_F(Reduced, ACommandDecides) {
  write_chain(types_);
  const testing::Outcome outcome = reduce("--keep 'grep -q Softsign {}'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("1 of 6 nodes"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("Softsign  n2"), std::string::npos) << outcome.text;
  EXPECT_EQ(small_types(), Types{"Softsign"});
  // Any other code than 0 will do, and only that one.
  EXPECT_EQ(reduce("--keep 'grep -q Softsign {} && exit 7; exit 1'").exit_code, 0);
  EXPECT_EQ(small_types(), Types{"Softsign"});
  expect("inspect s.onnx", 0, "f32[2x3]");
}

TEST_F(Reduced, WhatDoesNotCompileKeepsItsError) {
  write_chain({"Relu", "Neg", "Frobnicate", "Abs"});
  const testing::Outcome outcome = reduce("");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("Frobnicate"), std::string::npos) << outcome.text;
  EXPECT_EQ(small_types(), Types{"Frobnicate"});
}

TEST_F(Reduced, ACommandThatHangsIsAnEnding) {
  write_chain({"Relu", "Softsign", "Abs"});
  const testing::Outcome outcome = reduce("--timeout 0.3 --keep 'if grep -q Softsign {}; then sleep 60; fi'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("more than --timeout"), std::string::npos) << outcome.text;
  EXPECT_EQ(small_types(), Types{"Softsign"});
}

TEST_F(Reduced, AnInterruptKeepsTheBest) {
  write_chain(Types(40, "Softsign"));
  const testing::Outcome outcome =
      reduce("--keep 'sleep 0.2; grep -q Softsign {}'", "timeout --foreground --preserve-status -s INT 1.5 ");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("maybe not the fewest"), std::string::npos) << outcome.text;
  EXPECT_LT(small_types().size(), 40u);
  EXPECT_GE(small_types().size(), 1u);
}

TEST_F(Reduced, TrialsAreBounded) {
  write_chain(types_);
  const testing::Outcome outcome = reduce("--trials 2 --keep 'grep -q Softsign {}'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("after 2 trials, and maybe not the fewest"), std::string::npos) << outcome.text;
}

TEST_F(Reduced, WhatDoesNotFailIsUsage) {
  write_chain(types_);
  expect_refused("", 2, "a model that compiles and runs");
  expect_refused("--keep 'grep -q Softsign'", 2, "no {}");
  expect_refused("--keep 'true {}' --against onnxruntime", 2, "--against");
  expect_refused("--against tensorrt", 2, "tensorrt");
  expect_refused("--against onnxruntime --python ./none", 2, "exit code 5: found a program that cannot be started");
  expect("reduce " OCTAVO_SOURCE_DIR "/tests/import/litert/add_s8.tflite", 2, "expected an ONNX file");
  expect("reduce none.onnx", 5, "none.onnx");
}

TEST_F(Reduced, OnnxRuntimeDecides) {
  const char* given = std::getenv("OCTAVO_TEST_PYTHON");
  const std::string python = given == nullptr ? "python3" : given;
  if (testing::run_command(folder_, python + " -c 'import onnxruntime'").exit_code != 0)
    GTEST_SKIP() << "needs onnxruntime in python3 or OCTAVO_TEST_PYTHON";
  write_chain({"Relu", "Neg", "Abs"});
  expect_refused("--against onnxruntime --python " + python, 2, "agree with onnxruntime");
}

}  // namespace
}  // namespace octavo
