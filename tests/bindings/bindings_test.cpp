// Options in words, as bindings of other languages hand them over. Tests of bindings/.
#include "bindings/bindings.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace octavo::v1 {
namespace {

const GivenModel kDigits{.name = OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx", .bytes = {}};
const std::vector<std::string> kCalibrated = {"--calibrate=" OCTAVO_SOURCE_DIR "/examples/digits/calibration.npz",
                                              "--preprocess=tf", "--samples=8"};

std::string text_of(const Errors& errors) { return to_string(errors); }

TEST(Bindings, WordsAreThoseOfTheCommandLine) {
  const auto compiled = compile_as_told(kDigits, kCalibrated, {});
  ASSERT_TRUE(compiled) << text_of(compiled.errors());
  EXPECT_EQ(compiled->info().plans.at(0).precision, Precision::int8);
  EXPECT_NE(describe_model(compiled->info()).find("\"plans\""), std::string::npos);
}

TEST(Bindings, BytesAreWhatTheirFileIs) {
  const auto bytes = read_file(kDigits.name);
  ASSERT_TRUE(bytes);
  const auto of_file = compile_as_told(kDigits, kCalibrated, {});
  const auto of_bytes = compile_as_told({.name = kDigits.name, .bytes = *bytes}, kCalibrated, {});
  ASSERT_TRUE(of_file && of_bytes);
  EXPECT_EQ(of_file->bytes(), of_bytes->bytes());
}

TEST(Bindings, APrecisionThatIsLeftToTimeTakesBytesToo) {
  const auto bytes = read_file(kDigits.name);
  ASSERT_TRUE(bytes);
  std::vector<std::string> words = kCalibrated;
  words.insert(words.end(), {"--precision=auto", "--seconds=0.01", "--threads=1"});
  const auto compiled = compile_as_told({.name = "digits", .bytes = *bytes}, words, {});
  ASSERT_TRUE(compiled) << text_of(compiled.errors());
  EXPECT_TRUE(compiled->info().plans.at(0).notes.back().starts_with("auto: "));
}

TEST(Bindings, QuantizesAndTellsWhatSamplesHold) {
  const auto quantized = quantize_as_told(kDigits, kCalibrated, {});
  ASSERT_TRUE(quantized) << text_of(quantized.errors());
  EXPECT_TRUE(quantized->onnx());
  const auto inputs = sample_inputs(kDigits, {});
  ASSERT_TRUE(inputs) << text_of(inputs.errors());
  EXPECT_EQ(inputs->at(0).name, "image");
  EXPECT_EQ(inputs->at(0).shape, (std::vector<std::int64_t>{1, 1, 8, 8}));
}

TEST(Bindings, BadWordsAreErrorsOfUsage) {
  const auto expect_usage = [](const std::vector<std::string>& words, const std::string& text) {
    const auto compiled = compile_as_told(kDigits, words, {});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.errors()[0].kind, ErrorKind::usage);
    EXPECT_NE(text_of(compiled.errors()).find(text), std::string::npos) << text_of(compiled.errors());
  };
  expect_usage({"--precision=int4"}, "--precision");
  expect_usage({"--no-such-option=1"}, "--no-such-option");
  expect_usage({"--batch=0"}, "--batch");
  expect_usage({}, "neither a precision nor calibration data");
}

TEST(Bindings, ACallStopsWhereItIsAskedTo) {
  std::stop_source stop;
  const Watch watch{.progress = [&](Phase, std::int64_t, std::int64_t) { stop.request_stop(); },
                    .stop = stop.get_token()};
  const auto compiled = compile_as_told(kDigits, kCalibrated, watch);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.errors()[0].kind, ErrorKind::cancelled);
}

TEST(Bindings, ACompiledModelIsNotCompiledAgain) {
  const auto compiled = compile_as_told(kDigits, {"--precision=fp32"}, {});
  ASSERT_TRUE(compiled);
  const std::vector<std::byte> bytes = compiled->bytes();
  EXPECT_TRUE(is_compiled(bytes));
  const auto again = compile_as_told({.name = "digits", .bytes = bytes}, {}, {});
  ASSERT_FALSE(again);
  EXPECT_NE(text_of(again.errors()).find("a compiled model"), std::string::npos);
}

}  // namespace
}  // namespace octavo::v1
