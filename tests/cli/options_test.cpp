// Options that a model cannot take, and files that must not be lost. Part of tests/cli/.
#include <filesystem>

#include "base/file.h"
#include "cli/fixture.h"
#include "data/npy.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

using CliOptions = CliTest;

// What an .octv has decided is not asked for in vain.
TEST_F(CliOptions, CompiledModelsTakeNoOptionsThatCompile) {
  const std::string model = digits_ + "digits.onnx", data = digits_ + "test.npz";
  expect("compile " + model + " --calibrate random -o m.octv", 0, "written");
  ASSERT_TRUE(write_npy(path("x.npy"), Tensor(DType::f32, Shape{1, 1, 8, 8}).view()));
  for (const char* option :
       {"--calibrate random", "--calibration mse", "--corrections none", "--weights max", "--placement fused",
        "--samples 3", "--skip first", "--global-scale 8", "--scales s.json", "--target avx2", "--rounding onnx",
        "--batch-order steps", "--integer-only", "--input-type u8", "--output-type f32", "--allow-reference",
        "--tune off", "--tuning-log log"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect("run m.octv --input x.npy " + std::string(option), 2, name + " beside a compiled model");
  }
  const std::string two = " --target avx2 --tune off";
  for (const std::string verb : {"bench m.octv", "explain m.octv"})
    expect(verb + two + " --preprocess tf", 2, "--target, --tune, --preprocess beside a compiled model");
  // Of these it is also for the pictures that they read.
  for (const std::string& verb : {"evaluate m.octv --images " + data, std::string("compare m.octv m.octv")})
    expect(verb + " --preprocess tf" + two, 2, "--target, --tune beside a compiled model");
  // Where another model is compiled, they are its options.
  expect("compare m.octv " + model + " --calibrate random --target scalar", 0, "identical");
  // These choose a plan.
  expect("compare m.octv m.octv --precision int8 --batch 1", 0, "identical");
  expect("compare m.octv m.octv --batch 2", 2, "int8 batch 1");
  expect("run m.octv --input x.npy --precision fp32", 2, "int8 batch 1");
}

TEST_F(CliOptions, UnknownWordsAreListed) {
  const std::string compile = "compile " + digits_ + "digits.onnx --calibrate random ";
  expect(compile + "--weights mean", 2, "--weights: found 'mean', expected max, mse or adaround");
  expect(compile + "--rounding bankers", 2, "'bankers', expected onnx, tflite-xnnpack");
  expect(compile + "--rounding tflite-double", 2, "rounding tflite-double");
  expect(compile + "--calibration percentile:many", 2, "percentile:99.99");
  expect(compile + "--calibration mse:5", 2, "percentile:99.99");
  expect(compile + "--corrections bias,fast-bias", 2, "none");
  expect(compile + "--batch-order rows", 2, "auto, steps or images");
  expect("bench " + digits_ + "digits.onnx --compare fp32,int4", 2, "'int4', expected int8, fp32, tf32 or auto");
}

// An fp32 file without samples runs as what it is; compiling one asks for what it is to become.
TEST_F(CliOptions, Fp32FilesRunInFp32) {
  const std::string model = digits_ + "digits.onnx";
  expect("compile " + model + " --calibrate " + digits_ + "calibration.npz --preprocess tf -o m.octv", 0, "written");
  expect("evaluate " + model + " m.octv --images " + digits_ + "test.npz --preprocess tf", 0, "fp32");
  expect("bench " + model + " --seconds 0.02", 0, "fp32");
  expect("compile " + model, 2, "--calibrate");
}

// Names that come to one file name keep their files.
TEST_F(CliOptions, ResultsOfOneFileNameAreApart) {
  testing::ModelBuilder model;
  model.input("x", DType::f32, {1, 4});
  model.node({"Neg", {"x"}, {"a/b"}, {}, "", "first"}).output("a/b");
  model.node({"Abs", {"x"}, {"a_b"}, {}, "", "second"}).output("a_b");
  model.node({"Exp", {"x"}, {"a:b"}, {}, "", "third"}).output("a:b");
  ASSERT_TRUE(write_text(path("m.onnx"), model.bytes()));
  ASSERT_TRUE(write_npy(path("x.npy"), testing::floats({1, 4}, {-1, 1, 2, 3}).view()));
  expect("run m.onnx --input x.npy --output-dir out", 0, "a_b_2.npy");
  const auto first = read_npy(path("out/a_b.npy")), second = read_npy(path("out/a_b_2.npy"));
  ASSERT_TRUE(first && second && fs::exists(path("out/a_b_3.npy")));
  EXPECT_EQ(testing::as_floats(*first), (std::vector<float>{1, -1, -2, -3}));
  EXPECT_EQ(testing::as_floats(*second), (std::vector<float>{1, 1, 2, 3}));
  expect("run m.onnx --input x.npy --output-dir dumped --dump all", 0, "a_b_3.npy");
  const auto again = read_npy(path("dumped/a_b.npy"));
  ASSERT_TRUE(again);
  EXPECT_EQ(testing::as_floats(*again), testing::as_floats(*first));
}

// A name that no file may have is cut; two that differ behind the cut are apart.
TEST_F(CliOptions, ResultsOfLongNamesAreWritten) {
  testing::ModelBuilder model;
  const std::string stem(300, 'n');
  model.input("x", DType::f32, {1, 4});
  model.node({"Neg", {"x"}, {stem + "1"}, {}, "", "first"}).output(stem + "1");
  model.node({"Abs", {"x"}, {stem + "2"}, {}, "", "second"}).output(stem + "2");
  ASSERT_TRUE(write_text(path("m.onnx"), model.bytes()));
  ASSERT_TRUE(write_npy(path("x.npy"), testing::floats({1, 4}, {-1, 1, 2, 3}).view()));
  expect("run m.onnx --input x.npy --output-dir out", 0, "_2.npy");
  const std::string cut(200, 'n');
  const auto first = read_npy(path("out/" + cut + ".npy")), second = read_npy(path("out/" + cut + "_2.npy"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(testing::as_floats(*first), (std::vector<float>{1, -1, -2, -3}));
  EXPECT_EQ(testing::as_floats(*second), (std::vector<float>{1, 1, 2, 3}));
}

// What LiteRT begins itself needs no input, of a file and of what was compiled from it.
TEST_F(CliOptions, StatesBeginByThemselves) {
  const std::string file = std::string(OCTAVO_SOURCE_DIR) + "/tests/import/litert_states/running_sum.tflite";
  expect("inspect " + file, 0, "total");
  expect("compile " + file + " --precision fp32 --allow-reference -o m.octv", 0, "written");
  ASSERT_TRUE(write_npy(path("x.npy"), testing::floats({2, 3}, {1, 2, 3, 4, 5, 6}).view()));
  expect("run m.octv --input x.npy --output-dir a", 0, "total.npy");
  expect("run " + file + " --precision fp32 --allow-reference --input x.npy --output-dir b", 0, "total.npy");
  const auto first = read_npy(path("a/total.npy")), second = read_npy(path("b/total.npy"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(testing::as_floats(*first), testing::as_floats(*second));
}

// What was measured before a compilation failed need not be measured again.
TEST_F(CliOptions, FailedCompilationsKeepTheirTimes) {
  // The plan of batch 1 is measured, the one of batch 2 is refused: the file joins two images only.
  testing::ModelBuilder model;
  model.input("x", DType::f32, {-1, 64, 16, 16}).initializer("w", Tensor(DType::f32, Shape{64, 64, 3, 3}));
  model.initializer("b", Tensor(DType::f32, Shape{1, 64, 14, 14}));
  model.node({"Conv", {"x", "w"}, {"y"}, {}, "", "conv"})
      .node({.op = "Concat", .inputs = {"y", "b"}, .outputs = {"z"}, .attributes = {{"axis", std::int64_t{1}}}})
      .output("z");
  ASSERT_TRUE(write_text(path("m.onnx"), model.bytes()));
  expect("compile m.onnx --global-scale 8 --tune quick --tuning-log log --batch 1,2", 2, "N = 2");
  EXPECT_NE(testing::read_bytes(path("log")).find("quantized_conv("), std::string::npos);
}

TEST_F(CliOptions, CompilationsAtTheSameTimeShareALog) {
  for (const int channels : {32, 64}) {
    testing::ModelBuilder model;
    model.input("x", DType::f32, {1, channels, 16, 16})
        .initializer("w", Tensor(DType::f32, Shape{channels, channels, 3, 3}));
    model.node({"Conv", {"x", "w"}, {"y"}, {}, "", "conv"}).output("y");
    ASSERT_TRUE(write_text(path("m" + std::to_string(channels) + ".onnx"), model.bytes()));
  }
  const testing::Outcome outcome = testing::run_command(
      folder_,
      "for m in m32 m64; do octavo compile $m.onnx --global-scale 8 --tune quick --tuning-log log & done; wait");
  const std::string log = testing::read_bytes(path("log"));
  EXPECT_NE(log.find("1x16x16x32"), std::string::npos) << outcome.text;
  EXPECT_NE(log.find("1x16x16x64"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace octavo
