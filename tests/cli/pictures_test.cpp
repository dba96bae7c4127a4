// Models that take pictures as they are, and outputs of another type, on the command line. Part of tests/cli/.
#include <filesystem>

#include "cli/fixture.h"
#include "data/npy.h"

namespace octavo {
namespace {

class CliPictures : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (!IsSkipped()) expect("compile " + model_ + options_ + " -o outside.octv", 0, "written");
    if (!IsSkipped()) expect("compile " + model_ + options_ + " --input-type u8 -o inside.octv", 0, "takes pictures");
  }

  const std::string photo_ = std::string(OCTAVO_SOURCE_DIR) + "/tests/data/images/photo.jpg";
  const std::string model_ = digits_ + "digits.onnx";
  const std::string options_ = " --calibrate " + digits_ + "calibration.npz --preprocess tf --samples 20";
};

TEST_F(CliPictures, RunTakesAPhoto) {
  expect("run inside.octv --input " + photo_ + " --output-dir inside", 0, "inside/");
  expect("run outside.octv --preprocess tf --input " + photo_ + " --output-dir outside", 0, "outside/");
  for (const auto& entry : std::filesystem::directory_iterator(path("inside"))) {
    const auto a = read_npy(entry.path().string()), b = read_npy(path("outside/" + entry.path().filename().string()));
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*a, *b);
  }
  expect("compare inside.octv outside.octv --preprocess tf --input " + photo_, 0, "identical");
  expect("run " + model_ + options_ + " --input-type u8 --input " + photo_, 0, ".npy");
  expect("bench inside.octv --seconds 0.05", 0, "int8");
}

TEST_F(CliPictures, PixelsAreTakenAsTheyAre) {
  ASSERT_TRUE(write_npy(path("pixels.npy"), Tensor(DType::u8, Shape{1, 8, 8, 1}).view()));
  ASSERT_TRUE(write_npy(path("floats.npy"), Tensor(DType::f32, Shape{1, 1, 8, 8}).view()));
  expect("run inside.octv --input pixels.npy", 0, ".npy");
  expect("run " + model_ + options_ + " --input-type u8 --input image=pixels.npy", 0, ".npy");
  expect("run inside.octv --input floats.npy", 2, "x8x8x1");
}

TEST_F(CliPictures, EvaluateDoesNotNormaliseTwice) {
  const std::string images = " --images " + digits_ + "test.npz";
  expect("evaluate outside.octv inside.octv" + images + " --preprocess tf --json both.json", 0, "int8");
  expect("evaluate inside.octv" + images + " --json inside.json", 0, "int8");
  const auto both = json("both.json")["models"];
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0]["top1"], both[1]["top1"]);
  EXPECT_EQ(both[1]["agreement_percent"], 100.0);
  EXPECT_TRUE(both[1]["sqnr_db"].is_null());
  EXPECT_EQ(json("inside.json")["models"][0]["top1"], both[0]["top1"]);
  expect("evaluate inside.octv" + images + " --preprocess torch", 2, "another SPEC");
}

TEST_F(CliPictures, WhatIsInsideIsTold) {
  expect("inspect inside.octv --json inspect.json", 0, "u8[1x8x8x1]");
  EXPECT_EQ(json("inspect.json")["pictures"], "tf");
}

TEST_F(CliPictures, Refusals) {
  const std::string compile = "compile " + model_;
  expect(compile + " --precision fp32 --input-type u8", 2, "no --preprocess");
  expect(compile + " --precision fp32 --input-type s8 --preprocess tf", 2, "found 's8', expected u8");
  expect(compile + " --precision fp32 --output-type s32", 2, "found 's32', expected f32, u8 or s8");
  expect(compile + " --precision fp32 --output-type u8", 2, "output '");
  expect("run inside.octv --input-type u8 --input " + photo_, 2, "--input-type beside a compiled model");
  expect("run outside.octv --input " + photo_, 2, "no --preprocess");
  expect(compile + options_ + " --input-type u8 --batch 2 -o two.octv", 0, "written");
  expect("run two.octv --input " + photo_, 2, "one picture");
  expect("compare inside.octv outside.octv", 2, "--input");
}

// Searches look at the file's own ends; what they write has those that were asked for.
TEST_F(CliPictures, SearchesKeepThem) {
  const std::string options = " --input-type u8 --seconds 0.01 --threads 1";
  expect("compile " + model_ + options_ + options + " --max-drop 100 -o drop.octv", 0, "written");
  expect("compile " + model_ + options_ + options + " --precision auto -o auto.octv", 0, "takes pictures");
  expect("run drop.octv --input " + photo_, 0, ".npy");
  expect("run auto.octv --input " + photo_, 0, ".npy");
}

}  // namespace
}  // namespace octavo
