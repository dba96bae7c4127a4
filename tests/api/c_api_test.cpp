// The C API: answers, errors, ownership, growth. Tests of run/ and include/octavo/octavo.h.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "api/c_client.h"
#include "api/open_answers.h"
#include "api/open_networks.h"
#include "octavo/compile.h"
#include "octavo/octavo.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

// The digits network at batch 1 and 3, in a file and as the C++ API runs it.
class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto fill = [](std::int64_t index, std::span<const v1::TensorRef> inputs) {
      std::int64_t elements = 1;
      for (const std::int64_t dim : inputs[0].shape) elements *= dim;
      std::iota(static_cast<float*>(inputs[0].data), static_cast<float*>(inputs[0].data) + elements,
                static_cast<float>(-index));
      return ok_status();
    };
    auto compiled = v1::compile(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx",
                                {.batches = {1, 3}, .samples = {.count = 2, .fill = fill}, .allow_reference = true});
    ASSERT_TRUE(compiled) << to_string(compiled.errors());
    path_ = (fs::temp_directory_path() / ("octavo_c_api" + std::to_string(std::random_device{}()) + ".octv")).string();
    ASSERT_TRUE(compiled->save(path_));
    bytes_ = compiled->bytes();
    auto model = v1::Model::load(*compiled, {.threads = 1});
    ASSERT_TRUE(model);
    for (const std::size_t plan : {0, 1}) {
      auto context = v1::Context::create(*model, plan);
      ASSERT_TRUE(context);
      const v1::TensorInfo& in = context->inputs()[0];
      const v1::TensorInfo& out = context->outputs()[0];
      x_[plan].resize(in.bytes() / sizeof(float));
      y_[plan].resize(out.bytes() / sizeof(float));
      std::mt19937 random(1);
      for (float& value : x_[plan]) value = static_cast<float>(random() % 17);
      const v1::ConstTensorRef x{in.dtype, in.shape, x_[plan].data()};
      const v1::TensorRef y{out.dtype, out.shape, y_[plan].data()};
      ASSERT_TRUE(context->run({&x, 1}, {&y, 1}));
    }
  }
  void TearDown() override { fs::remove(path_); }

  octavo_model* opened() const {
    octavo_model* model = nullptr;
    EXPECT_EQ(octavo_open(path_.c_str(), nullptr, &model), OCTAVO_OK) << octavo_error();
    return model;
  }

  std::string path_;
  std::vector<std::byte> bytes_;
  std::vector<float> x_[2], y_[2];  // by plan
};

TEST_F(CApi, AProgramInCGetsTheSameBits) {
  for (const int plan : {0, 1}) {
    for (const int threads : {0, 1, 2, 7}) {
      std::vector<float> y(y_[plan].size());
      EXPECT_EQ(
          c_client_run(path_.c_str(), plan == 0 ? 1 : 3, threads, x_[plan].data(), x_[plan].size(), y.data(), y.size()),
          0)
          << octavo_error();
      EXPECT_EQ(y, y_[plan]);
    }
  }
}

TEST_F(CApi, ContextsOutliveTheirModelAndRunAtTheSameTime) {
  octavo_model* model = nullptr;
  ASSERT_EQ(octavo_open_bytes(bytes_.data(), bytes_.size(), nullptr, &model), OCTAVO_OK) << octavo_error();
  octavo_context* contexts[2] = {};
  for (octavo_context*& context : contexts) ASSERT_EQ(octavo_context_create(model, 1, 0, &context), OCTAVO_OK);
  octavo_model_destroy(model);
  std::vector<std::thread> threads;
  for (octavo_context* context : contexts) {
    threads.emplace_back([this, context] {
      std::vector<float> y(y_[1].size());
      EXPECT_EQ(octavo_set_input(context, 0, x_[1].data(), x_[1].size() * sizeof(float)), OCTAVO_OK);
      EXPECT_EQ(octavo_set_output(context, 0, y.data(), y.size() * sizeof(float)), OCTAVO_OK);
      for (int i = 0; i < 10; ++i) EXPECT_EQ(octavo_run(context), OCTAVO_OK);
      EXPECT_EQ(y, y_[1]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (octavo_context* context : contexts) octavo_context_destroy(context);
}

void expect_failure(octavo_status status, octavo_status expected, const std::string& part) {
  EXPECT_EQ(status, expected) << octavo_error();
  EXPECT_NE(std::string(octavo_error()).find(part), std::string::npos) << octavo_error();
}

TEST_F(CApi, ErrorsHaveAKindAndAText) {
  octavo_model* model = nullptr;
  expect_failure(octavo_open("/no/such.octv", nullptr, &model), OCTAVO_RESOURCE, "/no/such.octv");
  expect_failure(octavo_open_bytes("not one", 7, nullptr, &model), OCTAVO_INVALID_INPUT, "an .octv file");
  expect_failure(octavo_open(nullptr, nullptr, &model), OCTAVO_USAGE, "path: found a null pointer");
  octavo_open_options options{.struct_size = 0, .threads = 1, .copies_weights = 1};
  expect_failure(octavo_open(path_.c_str(), &options, &model), OCTAVO_USAGE, "struct_size 0");
  options = {.struct_size = sizeof options, .threads = -1, .copies_weights = 0};
  expect_failure(octavo_open(path_.c_str(), &options, &model), OCTAVO_USAGE, "threads: found -1");
  EXPECT_EQ(model, nullptr);

  model = opened();
  EXPECT_EQ(octavo_plan_count(model), 2u);
  std::size_t plan = 9;
  expect_failure(octavo_find_plan(model, OCTAVO_FP32, 0, &plan), OCTAVO_USAGE, "int8 batch 1, int8 batch 3");
  expect_failure(octavo_find_plan(model, 5, 0, &plan), OCTAVO_USAGE, "precision: found 5");
  octavo_context* context = nullptr;
  expect_failure(octavo_context_create(model, 2, 0, &context), OCTAVO_USAGE, "an index below 2");
  octavo_tensor_info info{};
  expect_failure(octavo_describe_input(model, 0, 0, &info), OCTAVO_USAGE, "struct_size 0");
  info.struct_size = sizeof info;
  expect_failure(octavo_describe_input(model, 0, 1, &info), OCTAVO_USAGE, "an index below 1");
  ASSERT_EQ(octavo_context_create(model, 0, 1, &context), OCTAVO_OK);
  expect_failure(octavo_run(context), OCTAVO_USAGE, "no memory");
  expect_failure(octavo_set_input(context, 0, x_[0].data(), 3), OCTAVO_USAGE, "found 3 bytes");
  expect_failure(octavo_run(nullptr), OCTAVO_USAGE, "context: found a null pointer");
  octavo_context_destroy(context);
  octavo_model_destroy(model);
  octavo_context_destroy(nullptr);
  octavo_model_destroy(nullptr);
  EXPECT_EQ(octavo_plan_count(nullptr), 0u);
  EXPECT_EQ(octavo_size_count(nullptr), 0u);
  EXPECT_EQ(octavo_context_memory(nullptr), 0u);
}

// Of a model with open sizes, in a file.
class OpenCApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string onnx = testing::write_pyramid("octavo_c_api_pyramid" + std::to_string(getpid()) + ".onnx");
    compiled_ = v1::compile(onnx, {.precision = Precision::fp32, .shapes = {{"x", {{1, 64}, 3, {8, 64}, {8, 64}}}}});
    fs::remove(onnx);
    ASSERT_TRUE(compiled_) << to_string(compiled_.errors());
    path_ = (fs::temp_directory_path() / ("octavo_c_api_open" + std::to_string(getpid()) + ".octv")).string();
    ASSERT_TRUE(compiled_->save(path_));
  }
  void TearDown() override { fs::remove(path_); }

  Result<v1::CompiledModel> compiled_{Errors{}};
  std::string path_;
};

TEST_F(OpenCApi, AProgramInCResizes) {
  const std::int64_t shapes[] = {1, 3, 8, 8, 2, 3, 33, 9, 1, 3, 20, 17};
  std::vector<float> x(3 * 64 * 64);
  std::mt19937 random(1);
  for (float& value : x) value = static_cast<float>(random() % 17);
  const auto model = v1::Model::load(*compiled_, {.threads = 1});
  ASSERT_TRUE(model) << to_string(model.errors());
  for (const std::size_t count : {1, 2, 3}) {
    const testing::Dims last(shapes + 4 * (count - 1), shapes + 4 * count);
    auto context = v1::Context::create(*model, {&last, 1});
    ASSERT_TRUE(context) << to_string(context.errors());
    const v1::TensorInfo& in = context->inputs()[0];
    const v1::TensorInfo& out = context->outputs()[0];
    std::vector<float> expected(out.bytes() / sizeof(float)), y(8 * 64 * 64);
    const v1::ConstTensorRef from{in.dtype, in.shape, x.data()};
    const v1::TensorRef to{out.dtype, out.shape, expected.data()};
    ASSERT_TRUE(context->run({&from, 1}, {&to, 1}));
    EXPECT_EQ(c_client_resize(path_.c_str(), shapes, count, 4, x.data(), y.data()), 0) << octavo_error();
    y.resize(expected.size());
    EXPECT_EQ(y, expected);
  }
}

TEST_F(OpenCApi, TellsWhatIsOpen) {
  octavo_model* model = nullptr;
  ASSERT_EQ(octavo_open(path_.c_str(), nullptr, &model), OCTAVO_OK) << octavo_error();
  EXPECT_EQ(octavo_plan_count(model), 0u);
  ASSERT_EQ(octavo_size_count(model), 3u);
  octavo_size_info size{.struct_size = sizeof size};
  ASSERT_EQ(octavo_describe_size(model, 1, &size), OCTAVO_OK);
  EXPECT_EQ(std::string(size.name), "N2");
  EXPECT_EQ(size.lowest, 8);
  EXPECT_EQ(size.highest, 64);
  EXPECT_EQ(size.step, 1);
  octavo_open_tensor_info output{.struct_size = sizeof output};
  ASSERT_EQ(octavo_describe_open_output(model, 0, &output), OCTAVO_OK);
  EXPECT_EQ(std::string(output.name), "y");
  ASSERT_EQ(output.rank, 4u);
  EXPECT_EQ(std::string(output.shape[0]), "N");
  EXPECT_EQ(std::string(output.shape[1]), "8");
  expect_failure(octavo_describe_size(model, 3, &size), OCTAVO_USAGE, "an index below 3");
  expect_failure(octavo_describe_open_output(model, 1, &output), OCTAVO_USAGE, "an index below 1");
  octavo_model_destroy(model);
}

TEST_F(OpenCApi, AContextOutlivesBadSizes) {
  octavo_model* model = nullptr;
  const octavo_open_options options{.struct_size = sizeof options, .threads = 1, .context_bytes = 1 << 16};
  ASSERT_EQ(octavo_open(path_.c_str(), &options, &model), OCTAVO_OK) << octavo_error();
  const std::int64_t good[] = {1, 3, 8, 8}, outside[] = {1, 3, 7, 8}, large[] = {64, 3, 64, 64};
  octavo_context* context = nullptr;
  expect_failure(octavo_context_create_at(model, good, 3, 0, &context), OCTAVO_USAGE, "expected 4: 4 of 'x'");
  expect_failure(octavo_context_create_at(model, nullptr, 4, 0, &context), OCTAVO_USAGE, "extents: found a null");
  expect_failure(octavo_context_create_at(model, good, 4, -1, &context), OCTAVO_USAGE, "threads: found -1");
  expect_failure(octavo_context_create_at(model, outside, 4, 0, &context), OCTAVO_USAGE, "expected 8 to 64");
  expect_failure(octavo_context_create_at(model, large, 4, 0, &context), OCTAVO_RESOURCE, "at most 65536");
  std::uint64_t bytes = 0;
  expect_failure(octavo_context_bytes_at(model, large, 4, 0, &bytes), OCTAVO_RESOURCE, "N = 64, N2 = 64");
  ASSERT_EQ(octavo_context_create_at(model, good, 4, 0, &context), OCTAVO_OK) << octavo_error();
  octavo_model_destroy(model);
  std::vector<float> x(3 * 64), y(8 * 16);
  ASSERT_EQ(octavo_set_input(context, 0, x.data(), x.size() * sizeof(float)), OCTAVO_OK) << octavo_error();
  ASSERT_EQ(octavo_set_output(context, 0, y.data(), y.size() * sizeof(float)), OCTAVO_OK) << octavo_error();
  expect_failure(octavo_context_resize(context, large, 4), OCTAVO_RESOURCE, "N = 64");
  EXPECT_EQ(octavo_run(context), OCTAVO_OK) << octavo_error();
  const std::int64_t wider[] = {1, 3, 8, 16};
  ASSERT_EQ(octavo_context_resize(context, wider, 4), OCTAVO_OK) << octavo_error();
  expect_failure(octavo_run(context), OCTAVO_USAGE, "no memory");
  octavo_context_destroy(context);
}

// And a caller that was compiled before options had bounds.
TEST(FixedCApi, AModelOfFixedSizesHasNone) {
  const auto compiled =
      v1::compile(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx",
                  {.precision = Precision::fp32, .shapes = {{"image", {2, 1, 8, 8}}}, .allow_reference = true});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const std::vector<std::byte> bytes = compiled->bytes();
  octavo_model* model = nullptr;
  octavo_open_options options{};
  options.struct_size = offsetof(octavo_open_options, plan_cache_bytes);
  options.context_bytes = 1;
  ASSERT_EQ(octavo_open_bytes(bytes.data(), bytes.size(), &options, &model), OCTAVO_OK) << octavo_error();
  EXPECT_EQ(octavo_size_count(model), 0u);
  EXPECT_EQ(octavo_open_input_count(model), 0u);
  octavo_context* context = nullptr;
  const std::int64_t shape[] = {2, 1, 8, 8};
  expect_failure(octavo_context_create_at(model, shape, 4, 0, &context), OCTAVO_USAGE, "one of fixed sizes");
  ASSERT_EQ(octavo_context_create(model, 0, 1, &context), OCTAVO_OK) << octavo_error();
  expect_failure(octavo_context_resize(context, shape, 4), OCTAVO_USAGE, "one of fixed sizes");
  octavo_tensor_info input{.struct_size = sizeof input};
  ASSERT_EQ(octavo_context_input(context, 0, &input), OCTAVO_OK);
  EXPECT_EQ(input.bytes, 2 * 64 * sizeof(float));
  octavo_context_destroy(context);
  octavo_model_destroy(model);
}

TEST_F(CApi, AContextOfAPlanKeepsToItsBound) {
  octavo_model* model = nullptr;
  const octavo_open_options options{.struct_size = sizeof options, .threads = 1, .context_bytes = 1};
  ASSERT_EQ(octavo_open(path_.c_str(), &options, &model), OCTAVO_OK) << octavo_error();
  octavo_context* context = nullptr;
  expect_failure(octavo_context_create(model, 1, 0, &context), OCTAVO_RESOURCE, "input 'image' 3x1x8x8 (batch = 3)");
  octavo_model_destroy(model);
}

// A caller that was compiled with a shorter or a longer struct.
TEST_F(CApi, OnlyWhatTheCallerKnowsIsWritten) {
  octavo_model* model = opened();
  octavo_plan_info info;
  std::memset(static_cast<void*>(&info), 0x55, sizeof info);
  info.struct_size = offsetof(octavo_plan_info, input_count);
  ASSERT_EQ(octavo_describe_plan(model, 1, &info), OCTAVO_OK);
  EXPECT_EQ(info.batch, 3);
  EXPECT_EQ(info.input_count, 0x5555555555555555u);
  struct {
    octavo_plan_info known;
    std::int64_t later = 7;
  } longer;
  longer.known.struct_size = sizeof longer;
  ASSERT_EQ(octavo_describe_plan(model, 1, &longer.known), OCTAVO_OK);
  EXPECT_EQ(longer.known.output_count, 1u);
  EXPECT_EQ(longer.later, 7);
  octavo_model_destroy(model);
}

TEST_F(CApi, HasVersions) {
  EXPECT_EQ(octavo_api_version(), std::uint32_t{OCTAVO_API_VERSION});
  EXPECT_EQ(octavo_version(), v1::version());
}

}  // namespace
}  // namespace octavo
