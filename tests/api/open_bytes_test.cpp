// Models with open sizes: compiled once, run at any size with the bytes of a compilation for that size.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "api/open_answers.h"
#include "api/open_networks.h"

namespace octavo::v1 {
namespace {

using testing::Dims;
using testing::expect_fixed_answers;
using testing::models_folder;

const CompileOptions kOpenBytesFp32{.precision = Precision::fp32};
const CompileOptions kOpenBytesInt8{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};

const char kResnet20[] = "cifar10_resnet20_ort_qdq_u8s8_perch.onnx";
const char kMobilenetV2[] = "mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx";

// Shapes with these batches.
std::vector<Dims> with_batches(const std::vector<std::int64_t>& batches, Dims shape) {
  std::vector<Dims> shapes;
  for (const std::int64_t batch : batches) {
    shape[0] = batch;
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

TEST(OpenBytes, APyramidAtEverySize) {
  const std::string path = testing::write_pyramid("octavo_open_pyramid.onnx");
  const std::vector<Dims> shapes = {{1, 3, 8, 8}, {2, 3, 15, 9}, {1, 3, 64, 48}, {5, 3, 31, 33}, {3, 3, 20, 7}};
  expect_fixed_answers(path, kOpenBytesFp32, {}, shapes);
  expect_fixed_answers(path, kOpenBytesInt8, {}, shapes);
  std::filesystem::remove(path);
}

TEST(OpenBytes, AFlattenedImageAtEveryBatch) {
  const std::string path = testing::write_flattened("octavo_open_flattened.onnx");
  const std::vector<Dims> shapes = with_batches({1, 2, 5, 7}, {0, 3, 5, 4});
  expect_fixed_answers(path, kOpenBytesFp32, {}, shapes);
  expect_fixed_answers(path, kOpenBytesInt8, {}, shapes);
  std::filesystem::remove(path);
}

TEST(OpenBytes, ASegmenterAtEverySize) {
  const std::string path = testing::write_segmenter("octavo_open_segmenter.onnx");
  const std::vector<Dims> shapes = {{1, 3, 64, 64}, {2, 3, 33, 47}, {1, 3, 96, 128}, {3, 3, 40, 24}, {1, 3, 111, 77},
                                    {1, 3, 16, 80}, {4, 3, 32, 32}, {1, 3, 120, 57}, {2, 3, 72, 56}, {1, 3, 65, 129}};
  const std::vector<Extent> open = {{1, 8}, 3, {16, 256}, {16, 256}};
  expect_fixed_answers(path, kOpenBytesFp32, open, shapes);
  expect_fixed_answers(path, kOpenBytesInt8, open, shapes);
  std::filesystem::remove(path);
}

TEST(OpenBytes, PositionsAtEveryLength) {
  const std::string path = testing::write_positions("octavo_open_positions.onnx");
  const std::vector<Dims> shapes = {{1, 1, 8}, {1, 2, 8}, {3, 5, 8}, {2, 48, 8}, {4, 600, 8}, {5, 7, 8}};
  expect_fixed_answers(path, kOpenBytesFp32, {}, shapes);
  std::filesystem::remove(path);
}

// Of lengths 1 to 512 with 1 to 3 rows.
void expect_encoder_answers(const std::string& name, const std::vector<std::int64_t>& lengths) {
  const std::string path = testing::write_encoder(name);
  std::vector<Dims> shapes;
  for (const std::int64_t length : lengths) shapes.push_back({length % 3 + 1, length, 32});
  const std::vector<Extent> open = {{1, 16}, {1, 512}, 32};
  expect_fixed_answers(path, kOpenBytesFp32, open, shapes);
  expect_fixed_answers(path, kOpenBytesInt8, open, shapes);
  std::filesystem::remove(path);
}

TEST(OpenBytes, AnEncoderAtManyLengths) {
  std::vector<std::int64_t> lengths = {1, 2, 3, 16, 511, 512};
  std::mt19937 random(3);
  while (lengths.size() < 40) lengths.push_back(static_cast<std::int64_t>(random() % 512) + 1);
  expect_encoder_answers("octavo_open_encoder.onnx", lengths);
}

TEST(OpenBytes, LongEncoderAtEveryLength) { expect_encoder_answers("octavo_open_encoder_long.onnx", up_to(512)); }

TEST(OpenBytes, BatchesOfRealModels) {
  if (!std::filesystem::exists(models_folder())) GTEST_SKIP() << "needs ../shared/data";
  expect_fixed_answers(models_folder() + kResnet20, {}, {}, with_batches({1, 2, 3, 7, 16, 33, 64}, {1, 3, 32, 32}));
  expect_fixed_answers(models_folder() + kMobilenetV2, {}, {}, with_batches({1, 2, 3, 4, 5}, {1, 3, 224, 224}));
}

TEST(OpenBytes, LongEveryBatchOfResnet20) {
  if (!std::filesystem::exists(models_folder())) GTEST_SKIP() << "needs ../shared/data";
  expect_fixed_answers(models_folder() + kResnet20, {}, {}, with_batches(up_to(64), {1, 3, 32, 32}));
}

TEST(OpenBytes, LongEveryBatchOfMobilenetV2) {
  if (!std::filesystem::exists(models_folder())) GTEST_SKIP() << "needs ../shared/data";
  expect_fixed_answers(models_folder() + kMobilenetV2, {}, {}, with_batches(up_to(64), {1, 3, 224, 224}));
}

TEST(OpenBytes, PicturesOfRealModels) {
  if (!std::filesystem::exists(models_folder())) GTEST_SKIP() << "needs ../shared/data";
  const std::vector<Extent> open = {1, 3, {32, 1024}, {32, 1024}};
  const std::vector<Dims> shapes = {{1, 3, 240, 320}, {1, 3, 64, 64},  {1, 3, 33, 47},   {1, 3, 120, 160},
                                    {1, 3, 224, 224}, {1, 3, 96, 128}, {1, 3, 200, 100}, {1, 3, 111, 77},
                                    {1, 3, 32, 320},  {1, 3, 300, 300}};
  expect_fixed_answers(models_folder() + "ultraface_slim320_fp32.onnx", {.global_scale = 4.0f}, open, shapes);
  expect_fixed_answers(models_folder() + kMobilenetV2, {}, open, shapes);
}

}  // namespace
}  // namespace octavo::v1
