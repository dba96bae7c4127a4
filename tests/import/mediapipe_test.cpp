// Custom operators of MediaPipe's models with MediaPipe's own answers (tests/import/mediapipe, made by
// scripts/make_mediapipe_vectors.py), and what is wrong with their options. Part of the tests of import/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "import/import.h"
#include "import/one_operator.h"
#include "import/tflite/flex_options.h"
#include "ops/evaluate.h"
#include "support/answers.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

fs::path mediapipe_folder() { return fs::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / "mediapipe"; }

// The largest difference over the largest value.
double difference(const Tensor& a, const Tensor& b) {
  double most = 0.0, largest = 0.0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    most = std::max(most, std::abs(double{a.as<float>()[i]} - double{b.as<float>()[i]}));
    largest = std::max(largest, std::abs(double{b.as<float>()[i]}));
  }
  return most / largest;
}

TEST(MediaPipe, CustomOperatorsAnswerAsItsOwnRuntimeDoes) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(mediapipe_folder())) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto model = import_model(entry.path().string(), {});
    ASSERT_TRUE(model.ok()) << to_string(model.errors());
    std::string bytes = contents(fs::path(entry.path()).replace_extension(".bin"));
    const Tensor x = taken(bytes, DType::f32, model->graph.fact(model->graph.inputs()[0]).shape);
    const auto results = evaluate(model->graph, std::vector<Tensor>{x});
    ASSERT_TRUE(results.ok()) << to_string(results.errors());
    for (const Tensor& result : *results) EXPECT_LT(difference(result, taken(bytes, DType::f32, result.shape())), 1e-6);
    EXPECT_TRUE(bytes.empty());
    ++count;
  }
  EXPECT_EQ(count, 8);
}

// Two images at once, whose landmarks differ, are what each of them is alone.
TEST(MediaPipe, ImagesOfABatchKeepApart) {
  const std::string path = (mediapipe_folder() / "landmarks.tflite").string();
  const auto one = import_model(path, {}), two = import_model(path, {.batch = 2});
  ASSERT_TRUE(one.ok() && two.ok());
  Tensor both(DType::f32, two->graph.fact(two->graph.inputs()[0]).shape);
  std::vector<Tensor> halves;
  const std::int64_t size = both.elements() / 2;
  for (std::int64_t i = 0; i < both.elements(); ++i) both.as<float>()[i] = static_cast<float>((i * i * 7 + i) % 61) / 8;
  for (std::int64_t i : {0, 1})
    halves.push_back(
        Tensor::of<float>(one->graph.fact(one->graph.inputs()[0]).shape,
                          std::span<const float>(both.as<float>() + i * size, static_cast<std::size_t>(size))));
  const auto together = evaluate(two->graph, std::vector<Tensor>{both});
  ASSERT_TRUE(together.ok());
  for (std::size_t half = 0; half < 2; ++half) {
    const auto alone = evaluate(one->graph, std::vector<Tensor>{halves[half]});
    ASSERT_TRUE(alone.ok());
    for (std::size_t i = 0; i < alone->size(); ++i) {
      const Tensor& expected = (*alone)[i];
      EXPECT_EQ(0, std::memcmp((*together)[i].data() + half * expected.bytes(), expected.data(), expected.bytes()))
          << i;
    }
  }
}

// ---- options ----

// {"a": -3, "b": [1, 300] of one type, "c": "xy", "d": 0.5, "e": [1, 2.5, -4], "f": [7, 8] of fixed length, "g": True}
const std::vector<std::uint8_t> kFlex = {
    0x61, 0x00, 0x62, 0x00, 0x02, 0x00, 0x01, 0x00, 0x2c, 0x01, 0x63, 0x00, 0x02, 0x78, 0x79, 0x00, 0x64, 0x00,
    0x65, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x40, 0xfc, 0xff, 0xff, 0xff,
    0x06, 0x0e, 0x06, 0x66, 0x00, 0x07, 0x08, 0x67, 0x00, 0x07, 0x2e, 0x2d, 0x26, 0x21, 0x20, 0x0c, 0x09, 0x00,
    0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0xfd, 0xff, 0xff, 0xff,
    0x42, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f, 0x3c, 0x00, 0x00, 0x00, 0x2f, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x06, 0x2d, 0x14, 0x0e, 0x2a, 0x40, 0x6a, 0x23, 0x26, 0x01};

TEST(FlexOptions, ReadsNumbersListsAndText) {
  using tflite_import::FlexOptions;
  const auto options = FlexOptions::parse(kFlex);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->number("a"), -3.0);
  EXPECT_EQ(options->number("d"), 0.5);
  EXPECT_EQ(options->number("g"), 1.0);
  EXPECT_EQ(options->numbers("b"), (std::vector<double>{1, 300}));
  EXPECT_EQ(options->numbers("e"), (std::vector<double>{1, 2.5, -4}));
  EXPECT_EQ(options->numbers("f"), (std::vector<double>{7, 8}));
  EXPECT_EQ(options->text("c"), "xy");
  EXPECT_FALSE(options->number("b").has_value());
  EXPECT_FALSE(options->numbers("a").has_value());
  EXPECT_FALSE(options->text("a").has_value());
  EXPECT_FALSE(options->number("h").has_value());
}

TEST(FlexOptions, DamagedOnesNeverCrash) {
  using tflite_import::FlexOptions;
  const auto read = [](std::span<const std::uint8_t> bytes) {
    const auto options = FlexOptions::parse(bytes);
    if (!options) return false;
    for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) {
      static_cast<void>(options->number(key));
      static_cast<void>(options->numbers(key));
      static_cast<void>(options->text(key));
    }
    return true;
  };
  int whole = 0;
  for (std::size_t size = 0; size < kFlex.size(); ++size) {
    const std::vector<std::uint8_t> first(kFlex.begin(), kFlex.begin() + static_cast<std::ptrdiff_t>(size));
    whole += read(first) ? 1 : 0;
  }
  for (std::size_t bit = 0; bit < 8 * kFlex.size(); ++bit) {
    std::vector<std::uint8_t> damaged = kFlex;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
    whole += read(damaged) ? 1 : 0;
  }
  EXPECT_GT(whole, 0);
}

std::string mediapipe_message_of(const TfliteBuilder& builder) {
  const auto model = builder.import();
  return model ? "" : to_string(model.errors());
}

TEST(MediaPipe, OptionsThatAreWrong) {
  const auto message = [](const std::string& name, std::vector<std::int32_t> shape, std::vector<std::uint8_t> options,
                          int version = 1) {
    TfliteBuilder builder;
    const int x = builder.input({.name = "x", .shape = std::move(shape)});
    builder.add({.code = 32,
                 .inputs = {x},
                 .outputs = {builder.output({.name = "y"})},
                 .custom = name,
                 .custom_options = std::move(options),
                 .version = version});
    return mediapipe_message_of(builder);
  };
  EXPECT_EQ(message("Landmarks2TransformMatrix", {1, 5, 3}, kFlex, 2),
            "test.tflite: subgraph 0, operator 0 (CUSTOM 'Landmarks2TransformMatrix'), custom option "
            "'left_rotation_idx': found nothing, or something else, expected a number");
  EXPECT_EQ(message("Landmarks2TransformMatrix", {1, 5, 3}, {1, 2}, 2),
            "test.tflite: subgraph 0, operator 0 (CUSTOM 'Landmarks2TransformMatrix'), custom options: found 2 bytes, "
            "expected a FlexBuffer's map");
  EXPECT_EQ(message("Landmarks2TransformMatrix", {1, 5, 3}, kFlex, 1),
            "test.tflite: subgraph 0, operator 0 (CUSTOM 'Landmarks2TransformMatrix'): found version 1, expected "
            "version 2");
  EXPECT_NE(message("MaxPoolingWithArgmax2D", {1, 4, 4, 1}, {1, 2}).find("found 1 outputs, expected 2"),
            std::string::npos);
}

}  // namespace
}  // namespace octavo::testing
