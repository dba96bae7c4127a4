// octavo compare MODEL --against ENGINE, with a shell script in the place of Python, and with the real package where it
// is. Part of tests/cli/.
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/fixture.h"
#include "data/npy.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

// Called as an interpreter: -c SCRIPT REQUEST. Output i of the request gets what lies in theirs_i.npy.
const char* const kFakePython = R"(#!/bin/sh
for request in "$@"; do :; done
number=0
for file in $(sed 's/.*"outputs"//' "$request" | grep -o '"file":"[^"]*"' | cut -d'"' -f4); do
  cp "theirs_$number.npy" "$file" || exit 9
  number=$((number + 1))
done
answer=$(grep -o '"answer":"[^"]*"' "$request" | cut -d'"' -f4)
echo '{"version": "0.0"}' > "$answer"
)";

class Against : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(path("tmp"));
    make_interpreter("python", kFakePython);
    Tensor x(DType::f32, Shape{1, 2, 3, 3});
    for (std::size_t i = 0; i < 18; ++i) x.span<float>()[i] = static_cast<float>(i * 7 % 18) - 9.0f;
    ASSERT_TRUE(write_npy(path("x.npy"), x.view()));
  }

  void make_interpreter(const std::string& name, const std::string& text) const {
    folder_.write(name, text);
    fs::permissions(path(name), fs::perms::owner_all);
  }

  // Nothing of the exchange stays behind, however it ends.
  void expect_against(const std::string& arguments, int exit_code, const std::string& part) const {
    const testing::Outcome outcome =
        testing::run_command(folder_, "TMPDIR=tmp timeout 120 octavo compare " + arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find(part), std::string::npos) << arguments << "\n" << outcome.text;
    for (const auto& entry : fs::directory_iterator(path("tmp")))  // an engine has files of its own
      EXPECT_FALSE(entry.path().filename().string().starts_with("octavo")) << arguments;
  }

  // An image through a convolution that leaves it as it is, ReLU and the mean of each channel.
  void write_image_model() const {
    testing::ModelBuilder model;
    model.input("x", DType::f32, {1, 2, 3, 3});
    model.initializer("w", Tensor::of<float>(Shape{2, 2, 1, 1}, {1, 0, 0, 1}));
    model.node({"Conv", {"x", "w"}, {"c"}, {}, "", "conv"}).node({"Relu", {"c"}, {"r"}, {}, "", "relu"});
    model.node({"GlobalAveragePool", {"r"}, {"y"}, {}, "", "pool"}).output("y");
    ASSERT_TRUE(write_text(path("m.onnx"), model.bytes()));
  }

  // What every engine answers, in the order of the file's axes; `error` is added to one element of r.
  void write_image_answers(float error) const {
    const auto x = read_npy(path("x.npy"));
    Tensor r(DType::f32, Shape{1, 2, 3, 3}), y(DType::f32, Shape{1, 2, 1, 1});
    for (std::size_t i = 0; i < 18; ++i) {
      r.span<float>()[i] = std::max(0.0f, x->view().span<float>()[i]);
      y.span<float>()[i / 9] += r.span<float>()[i] / 9.0f;
    }
    r.span<float>()[7] += error;
    ASSERT_TRUE(write_npy(path("theirs_0.npy"), r.view()));
    ASSERT_TRUE(write_npy(path("theirs_1.npy"), y.view()));
  }

  // Bytes of both signs.
  void write_integer_model(DType dtype) const {
    testing::ModelBuilder model;
    model.input("x", DType::f32, {1, 2, 3, 3}).initializer("s", Tensor::scalar(0.5f));
    model.initializer("z", dtype == DType::s8 ? Tensor::scalar(std::int8_t{3}) : Tensor::scalar(std::uint8_t{130}));
    model.node({"QuantizeLinear", {"x", "s", "z"}, {"q"}, {}, "", "quantize"});
    model.node({"DequantizeLinear", {"q", "s", "z"}, {"y"}, {}, "", "dequantize"}).output("y");
    ASSERT_TRUE(write_text(path("q.onnx"), model.bytes()));
  }

  void write_integer_answers(DType dtype, int error) const {
    const auto x = read_npy(path("x.npy"));
    Tensor q(dtype, Shape{1, 2, 3, 3});
    const int zero_point = dtype == DType::s8 ? 3 : 130;
    for (std::int64_t i = 0; i < 18; ++i)
      store_double(q.view(), i, x->view().span<float>()[static_cast<std::size_t>(i)] * 2 + zero_point);
    store_double(q.view(), 5, element_as_double(q.view(), 5) + error);
    ASSERT_TRUE(write_npy(path("theirs_0.npy"), q.view()));
    ASSERT_TRUE(write_npy(path("theirs_1.npy"), x->view()));
  }

  const std::string engine_ = " --against onnxruntime --python ./python --input x=x.npy --json out.json";
};

TEST_F(Against, TensorsOfImagesAreFoundInTheirOrderOfAxes) {
  write_image_model();
  write_image_answers(0.0f);
  expect_against("m.onnx" + engine_, 0, "2 tensors beside onnxruntime 0.0: 0 leave it. 1 others");
  EXPECT_EQ(json("out.json")["tensors"][0]["name"], "r");
  EXPECT_EQ(json("out.json")["tensors"][0]["op"], "Relu");
  EXPECT_EQ(json("out.json")["tensors"][0]["shape"], nlohmann::json({1, 2, 3, 3}));
  EXPECT_EQ(json("out.json")["tensors"][1]["node"], "pool");
  EXPECT_EQ(json("out.json")["not_compared"], 1);
  EXPECT_EQ(json("out.json")["same"], true);
  EXPECT_TRUE(json("out.json")["first"].is_null());
}

TEST_F(Against, TheFirstTensorThatLeavesIsNamed) {
  write_image_model();
  write_image_answers(0.5f);
  expect_against("m.onnx" + engine_, 1, "first: 'r', of node 'relu' (Relu) leaves onnxruntime 0.0: SQNR ");
  EXPECT_EQ(json("out.json")["first"], "r");
  EXPECT_EQ(json("out.json")["tensors"][0]["differing"], 1);
  EXPECT_EQ(json("out.json")["tensors"][0]["first"], 7);
  EXPECT_EQ(json("out.json")["tensors"][0]["largest"], 0.5);
  EXPECT_EQ(json("out.json")["tensors"][1]["agrees"], true);
  expect_against("m.onnx --min-sqnr 20" + engine_, 0, "0 leave it");
}

TEST_F(Against, IntegersAgreeWhereTheyAreEqual) {
  for (const DType dtype : {DType::s8, DType::u8}) {
    write_integer_model(dtype);
    write_integer_answers(dtype, 0);
    expect_against("q.onnx" + engine_, 0, "2 tensors beside");
    EXPECT_EQ(json("out.json")["tensors"][0]["dtype"], name_of(dtype));
    write_integer_answers(dtype, 1);
    expect_against("q.onnx" + engine_, 1, "first: 'q', of node 'quantize'");
    EXPECT_EQ(json("out.json")["tensors"][0]["largest"], 1.0);
    expect_against("q.onnx --min-sqnr 20" + engine_, 0, "0 leave it");
  }
}

TEST_F(Against, ShapesThatNoOrderOfAxesGivesAreNotCompared) {
  write_image_model();
  write_image_answers(0.0f);
  ASSERT_TRUE(write_npy(path("theirs_0.npy"), Tensor(DType::f32, Shape{9, 2}).view()));
  expect_against("m.onnx" + engine_, 0, "1 tensors beside onnxruntime 0.0: 0 leave it. 2 others");
}

TEST_F(Against, AProcessThatFailsIsAnError) {
  write_image_model();
  const std::string answer = "#!/bin/sh\nfor r in \"$@\"; do :; done\necho '";
  const std::string to = "' > \"$(grep -o '\"answer\":\"[^\"]*\"' \"$r\" | cut -d'\"' -f4)\"\n";
  make_interpreter("bare", answer + R"({"missing": "No module named onnxruntime"})" + to);
  make_interpreter("refusing", answer + R"({"refused": "no such operator"})" + to);
  make_interpreter("silent", "#!/bin/sh\nexit 0\n");
  make_interpreter("confused", answer + "{" + to);
  make_interpreter("forgetful", answer + R"({"version": "1"})" + to);
  make_interpreter("failing", "#!/bin/sh\necho alas >&2\nexit 3\n");
  make_interpreter("crashing", "#!/bin/sh\nkill -SEGV $$\n");
  make_interpreter("hanging", "#!/bin/sh\nsleep 60 & wait\n");
  const auto with = [](const std::string& name) {
    return "m.onnx --against onnxruntime --timeout 0.5 --python ./" + name;
  };
  expect_against(with("bare"), 5, "no package onnxruntime (No module named onnxruntime)");
  expect_against(with("refusing"), 4, "a refusal: no such operator");
  expect_against(with("silent"), 5, "without an answer");
  expect_against(with("confused"), 5, "without a version");
  expect_against(with("forgetful"), 5, "");
  expect_against(with("failing"), 5, "ended with exit code 3. alas");
  expect_against(with("crashing"), 5, "ended by signal 11");
  expect_against(with("hanging"), 5, "ended at its limit of time");
  expect_against(with("missing"), 5, "cannot be started (No such file or directory)");
}

TEST_F(Against, WhatEnginesCannotTakeIsUsage) {
  write_image_model();
  expect_against("m.onnx", 2, "one model");
  expect_against("m.onnx m.onnx --against onnxruntime", 2, "B and --against");
  expect_against("m.onnx --against tensorrt", 2, "tensorrt");
  expect_against("m.onnx --against litert", 2, "expected a TFLite file");
  expect_against("m.onnx m.onnx --python ./python", 2, "--against");
  const testing::Outcome compiled = octavo("compile m.onnx --precision fp32 -o m.octv");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.text;
  expect_against("m.octv --against onnxruntime", 2, "neither ONNX nor TFLite");
}

TEST_F(Against, OnnxRuntimeAgrees) {
  const char* given = std::getenv("OCTAVO_TEST_PYTHON");
  const std::string python = given == nullptr ? "python3" : given;
  if (testing::run_command(folder_, python + " -c 'import onnxruntime'").exit_code != 0)
    GTEST_SKIP() << "needs onnxruntime in python3 or OCTAVO_TEST_PYTHON";
  write_image_model();
  expect_against("m.onnx --against onnxruntime --python " + python, 0, "2 tensors beside onnxruntime");
  expect_against(digits_ + "digits.onnx --against onnxruntime --python " + python, 0, "0 leave it");
}

}  // namespace
}  // namespace octavo
