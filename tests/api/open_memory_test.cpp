// What contexts of models with open sizes take: told beforehand, bounded, and not taken for sizes that cannot be. Tests
// of run/.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "api/open_answers.h"
#include "api/open_networks.h"

namespace octavo::v1 {
namespace {

using testing::answer;
using testing::Dims;
using testing::loaded;
using testing::models_folder;

const CompileOptions kOpenMemoryFp32{.precision = Precision::fp32};
const CompileOptions kOpenMemoryInt8{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};

Result<CompiledModel> pyramid(const CompileOptions& options) {
  const std::string path = testing::write_pyramid("octavo_open_memory.onnx");
  auto compiled = compile(path, options);
  std::filesystem::remove(path);
  return compiled;
}

TEST(OpenMemory, IsToldBeforehand) {
  for (const CompileOptions& options : {kOpenMemoryFp32, kOpenMemoryInt8}) {
    const auto model = loaded(pyramid(options), {.threads = 3});
    ASSERT_TRUE(model) << to_string(model.errors());
    const ThreadPool two(2);
    for (const Dims& shape : {Dims{1, 3, 33, 47}, Dims{5, 3, 64, 64}, Dims{9, 3, 20, 8}}) {
      const auto bytes = model->context_bytes({&shape, 1});
      const auto with_two = model->context_bytes({&shape, 1}, 2);
      ASSERT_TRUE(bytes) << to_string(bytes.errors());
      ASSERT_TRUE(with_two) << to_string(with_two.errors());
      EXPECT_EQ(Context::create(*model, {&shape, 1})->memory_bytes(), *bytes);
      EXPECT_EQ(Context::create(*model, {&shape, 1}, &two)->memory_bytes(), *with_two);
      EXPECT_LT(*with_two, *bytes);
    }
  }
}

TEST(OpenMemory, OfAPlanIsToldBeforehand) {
  CompileOptions options = kOpenMemoryFp32;
  options.shapes = {{"x", {2, 3, 32, 32}}};
  const auto model = loaded(pyramid(options));
  ASSERT_TRUE(model) << to_string(model.errors());
  const auto bytes = model->context_bytes(0);
  ASSERT_TRUE(bytes) << to_string(bytes.errors());
  EXPECT_EQ(Context::create(*model)->memory_bytes(), *bytes);
  const auto none = model->context_bytes(1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.errors()[0].kind, ErrorKind::usage);
  const auto bounded = loaded(pyramid(options), {.threads = 1, .context_bytes = *bytes - 1});
  const auto refused = Context::create(*bounded);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].kind, ErrorKind::resource);
  EXPECT_EQ(refused.errors()[0].expected, "at most " + std::to_string(*bytes - 1));
}

// With what the largest shape takes as the bound, all shapes fit.
void expect_all_fit(const Result<CompiledModel>& compiled, int threads, const Dims& largest,
                    const std::vector<Dims>& shapes) {
  const auto unbounded = loaded(compiled, {.threads = threads});
  ASSERT_TRUE(unbounded) << to_string(unbounded.errors());
  const auto most = unbounded->context_bytes({&largest, 1});
  ASSERT_TRUE(most) << to_string(most.errors());
  const auto model = loaded(compiled, {.threads = threads, .context_bytes = *most});
  for (const Dims& shape : shapes) {
    const auto bytes = model->context_bytes({&shape, 1});
    ASSERT_TRUE(bytes) << to_string(bytes.errors());
    EXPECT_LE(*bytes, *most);
  }
}

TEST(OpenMemory, WhereTheLargestFitsAllDo) {
  std::vector<Dims> shapes;
  for (const std::int64_t batch : {1, 2, 3, 5, 8}) {
    for (std::int64_t height = 8; height <= 128; height += 17) {
      for (std::int64_t width = 8; width <= 128; width += 19) shapes.push_back({batch, 3, height, width});
    }
  }
  for (const int threads : {1, 2, 16}) {
    expect_all_fit(pyramid(kOpenMemoryFp32), threads, {8, 3, 128, 128}, shapes);
    expect_all_fit(pyramid(kOpenMemoryInt8), threads, {8, 3, 128, 128}, shapes);
  }
}

// The order of a batch changes with it: of MobileNetV2 on 16 threads, 3 images take more than 5, and 1024 on one thread
// ten times as much as 4096.
TEST(OpenMemory, WhereTheLargestBatchFitsAllDo) {
  if (!std::filesystem::exists(models_folder())) GTEST_SKIP() << "needs ../shared/data";
  const auto compiled = compile(models_folder() + "mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx");
  for (const int threads : {1, 2, 16}) {
    for (const std::int64_t most : {5, 64, 4096}) {
      std::vector<Dims> shapes;
      for (std::int64_t batch = 1; batch <= most; batch += 1 + batch / 8) shapes.push_back({batch, 3, 224, 224});
      expect_all_fit(compiled, threads, {most, 3, 224, 224}, shapes);
    }
  }
}

TEST(OpenMemory, TooMuchIsAnErrorThatNamesIt) {
  const auto model = loaded(pyramid(kOpenMemoryFp32), {.threads = 1, .context_bytes = 1 << 20});
  ASSERT_TRUE(model) << to_string(model.errors());
  const Dims good = {1, 3, 32, 32}, large = {1, 3, 640, 480};
  auto context = Context::create(*model, {&good, 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  const auto before = answer(*context, 1);
  const Errors errors[] = {context->resize({&large, 1}).errors(), Context::create(*model, {&large, 1}).errors(),
                           model->context_bytes({&large, 1}).errors()};
  for (const Errors& error : errors) {
    EXPECT_EQ(error.at(0).kind, ErrorKind::resource);
    EXPECT_EQ(error.at(0).where, "input 'x' 1x3x640x480 (N = 1, N2 = 640, N3 = 480)");
    EXPECT_NE(error.at(0).found.find("bytes of memory for a context"), std::string::npos) << error.at(0).found;
    EXPECT_EQ(error.at(0).expected, "at most 1048576");
  }
  EXPECT_TRUE(answer(*context, 1) == before);
  EXPECT_LE(context->memory_bytes(), std::uint64_t{1} << 20);
}

std::int64_t most_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Far beyond any machine, and such that only a context's memory is too much.
TEST(OpenMemory, HugeSizesFailAtOnce) {
  constexpr std::int64_t one = 1;
  const std::vector<Dims> shapes = {
      {one << 31, 3, 32, 32},       {one << 40, 3, 32, 32},       {one << 62, 3, 32, 32},
      {1, 3, one << 31, 32},        {1, 3, 32, one << 31},        {1, 3, one << 40, 32},
      {1, 3, one << 31, one << 31}, {1, 3, one << 16, one << 16}, {one << 31, 3, one << 31, one << 31},
      {1, 3, one << 17, one << 14}, {3, 3, one << 14, one << 14}, {1, 3, one << 20, 1 << 10}};
  for (const CompileOptions& options : {kOpenMemoryFp32, kOpenMemoryInt8}) {
    const auto model = loaded(pyramid(options), {.threads = 1, .context_bytes = 1 << 30});
    ASSERT_TRUE(model) << to_string(model.errors());
    const Dims good = {2, 3, 32, 32};
    auto context = Context::create(*model, {&good, 1});
    ASSERT_TRUE(context) << to_string(context.errors());
    const auto expected = answer(*context, 1);
    for (const Dims& shape : shapes) {
      const std::int64_t kilobytes = most_kilobytes();
      const auto start = std::chrono::steady_clock::now();
      const Status resized = context->resize({&shape, 1});
      const auto elapsed = std::chrono::steady_clock::now() - start;
      ASSERT_FALSE(resized);
      EXPECT_LT(elapsed, std::chrono::seconds(5)) << to_string(resized.errors());  // milliseconds on a quiet machine
      EXPECT_LT(most_kilobytes() - kilobytes, 64 << 10) << to_string(resized.errors());
      EXPECT_NE(to_string(resized.errors()).find("input 'x'"), std::string::npos) << to_string(resized.errors());
      EXPECT_TRUE(answer(*context, 1) == expected);
    }
  }
}

}  // namespace
}  // namespace octavo::v1
