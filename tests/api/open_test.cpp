// Models with open sizes: compiled once, run at any size with the bytes of a compilation for that size.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "artifact/artifact.h"
#include "artifact/format.h"
#include "octavo/compile.h"
#include "support/onnx_builder.h"

namespace octavo::v1 {
namespace {

using Dims = std::vector<std::int64_t>;
using testing::ModelBuilder;
using Ints = std::vector<std::int64_t>;

std::string data_folder() {
  if (const char* folder = std::getenv("OCTAVO_DATA")) return folder;
  return std::string(OCTAVO_SOURCE_DIR) + "/../shared/data";
}

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    const float value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    std::memcpy(data.data() + i, &value, 4);
  }
  return data;
}

// All outputs' bytes for seeded floats (8-bit inputs take them as they are).
std::vector<std::byte> answer(Context& context, unsigned seed) {
  std::vector<std::vector<std::byte>> in, out;
  std::vector<ConstTensorRef> inputs;
  std::vector<TensorRef> outputs;
  for (const TensorInfo& info : context.inputs()) in.push_back(noise(info.bytes(), seed));
  for (const TensorInfo& info : context.outputs()) out.emplace_back(info.bytes());
  for (std::size_t i = 0; i < in.size(); ++i)
    inputs.push_back({context.inputs()[i].dtype, context.inputs()[i].shape, in[i].data()});
  for (std::size_t i = 0; i < out.size(); ++i)
    outputs.push_back({context.outputs()[i].dtype, context.outputs()[i].shape, out[i].data()});
  const Status done = context.run(inputs, outputs);
  EXPECT_TRUE(done) << to_string(done.errors());
  std::vector<std::byte> all;
  for (const auto& bytes : out) all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

// Of the last section of an .octv.
std::size_t network_bytes(std::span<const std::byte> file) {
  ArtifactHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  ArtifactSection last;
  std::memcpy(&last, file.data() + sizeof header + (header.sections - 1) * sizeof last, sizeof last);
  EXPECT_EQ(last.type, SectionType::network);
  return last.bytes;
}

Result<Model> loaded(const Result<CompiledModel>& compiled, const LoadOptions& options = {.threads = 1}) {
  EXPECT_TRUE(compiled) << to_string(compiled.errors());
  if (!compiled) return compiled.errors();
  // Through a file's bytes, as a run has it.
  const auto opened = open(compiled->bytes(), "open");
  EXPECT_TRUE(opened) << to_string(opened.errors());
  return opened ? Model::load(*opened, options) : Result<Model>(opened.errors());
}

std::vector<std::byte> fixed_answer(const std::string& path, CompileOptions options, const std::string& input,
                                    const Dims& shape, unsigned seed) {
  options.shapes = {{input, {shape.begin(), shape.end()}}};
  const auto compiled = compile(path, options);
  EXPECT_TRUE(compiled) << to_string(compiled.errors());
  if (!compiled) return {};
  EXPECT_TRUE(compiled->info().sizes.empty());
  const auto model = Model::load(*compiled, {.threads = 1});
  auto context = Context::create(*model);
  return answer(*context, seed);
}

// One compilation with `open`, run at all shapes by two contexts at once in random order.
void expect_fixed_answers(const std::string& path, CompileOptions options, const std::vector<Extent>& open,
                          const std::vector<Dims>& shapes) {
  if (!open.empty()) {
    const auto usual = compile(path, options);
    ASSERT_TRUE(usual) << to_string(usual.errors());
    options.shapes = {{usual->info().plans[0].inputs[0].name, open}};
  }
  const auto model = loaded(compile(path, options));
  ASSERT_TRUE(model) << to_string(model.errors());
  const ModelInfo info = model->info();
  ASSERT_FALSE(info.sizes.empty());
  const std::string input = info.open_inputs.at(0).name;
  std::vector<std::vector<std::byte>> expected;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    expected.push_back(fixed_answer(path, options, input, shapes[i], static_cast<unsigned>(i)));
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::optional<Context> context;
    for (std::size_t n = 0; n < 2 * shapes.size(); ++n) {
      const std::size_t i = random() % shapes.size();
      if (!context) {
        auto made = Context::create(*model, {&shapes[i], 1});
        ASSERT_TRUE(made) << to_string(made.errors());
        context.emplace(std::move(*made));
      } else {
        const Status resized = context->resize({&shapes[i], 1});
        ASSERT_TRUE(resized) << to_string(resized.errors());
      }
      EXPECT_TRUE(answer(*context, static_cast<unsigned>(i)) == expected[i]) << path << " at " << i;
    }
  };
  std::thread other(work, 1u);
  work(2u);
  other.join();
}

// x [N, 3, H, W] -> convolutions, pools, a resize and a mean, with what exporters write for sizes.
std::string write_pyramid(const std::string& name) {
  ModelBuilder builder;
  const auto ones = [](const Shape& shape) {
    Tensor tensor(DType::f32, shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.as<float>()[i] = static_cast<float>(i % 7 - 3) * 0.1f;
    return tensor;
  };
  builder.input("x", DType::f32, {-1, 3, -2, -3}).initializer("w", ones(Shape{8, 3, 3, 3}));
  builder.initializer("v", ones(Shape{8, 8, 1, 1}))
      .initializer("roi", Tensor(DType::f32, Shape{0}))
      .initializer("no_scales", Tensor(DType::f32, Shape{0}))
      .initializer("first", testing::integers({1}, {0}))
      .initializer("two", testing::integers({1}, {2}))
      .initializer("four", testing::integers({1}, {4}));
  builder
      .node({.op = "Conv",
             .inputs = {"x", "w"},
             .outputs = {"a"},
             .attributes = {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}})
      .node({.op = "Relu", .inputs = {"a"}, .outputs = {"b"}})
      .node({.op = "MaxPool",
             .inputs = {"b"},
             .outputs = {"c"},
             .attributes = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}})
      .node({.op = "Conv", .inputs = {"c", "v"}, .outputs = {"d"}})
      .node({.op = "Shape", .inputs = {"b"}, .outputs = {"s"}})
      .node({.op = "Slice", .inputs = {"s", "two", "four", "first"}, .outputs = {"hw"}})
      .node({.op = "Shape", .inputs = {"d"}, .outputs = {"t"}})
      .node({.op = "Slice", .inputs = {"t", "first", "two", "first"}, .outputs = {"nc"}})
      .node({.op = "Concat", .inputs = {"nc", "hw"}, .outputs = {"to"}, .attributes = {{"axis", std::int64_t{0}}}})
      .node({.op = "Resize",
             .inputs = {"d", "roi", "no_scales", "to"},
             .outputs = {"e"},
             .attributes = {{"mode", std::string("linear")}}})
      .node({.op = "Add", .inputs = {"e", "b"}, .outputs = {"f"}})
      .node({.op = "GlobalAveragePool", .inputs = {"f"}, .outputs = {"g"}})
      .node({.op = "Mul", .inputs = {"f", "g"}, .outputs = {"y"}})
      .output("y");
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream(path, std::ios::binary) << builder.bytes();
  return path;
}

TEST(OpenSizes, APyramidRunsAtEverySize) {
  const std::string path = write_pyramid("octavo_open_pyramid.onnx");
  const std::vector<Dims> shapes = {{1, 3, 8, 8}, {2, 3, 15, 9}, {1, 3, 64, 48}, {5, 3, 31, 33}, {3, 3, 20, 7}};
  expect_fixed_answers(path, {.precision = Precision::fp32}, {}, shapes);
  expect_fixed_answers(path, {.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true}, {}, shapes);
  std::filesystem::remove(path);
}

TEST(OpenSizes, BatchesOfRealModels) {
  const std::string folder = data_folder() + "/models/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs ../shared/data";
  std::vector<Dims> batches;
  for (const std::int64_t n : {1, 2, 3, 7, 16, 33, 64}) batches.push_back({n, 3, 32, 32});
  expect_fixed_answers(folder + "cifar10_resnet20_ort_qdq_u8s8_perch.onnx", {}, {}, batches);
  for (Dims& shape : batches) shape = {shape[0] % 6 + 1, 3, 224, 224};
  expect_fixed_answers(folder + "mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx", {}, {}, batches);
}

TEST(OpenSizes, PicturesOfRealModels) {
  const std::string folder = data_folder() + "/models/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs ../shared/data";
  const std::vector<Extent> open = {1, 3, {32, 1024}, {32, 1024}};
  const std::vector<Dims> shapes = {{1, 3, 240, 320}, {1, 3, 64, 64},  {1, 3, 33, 47},   {1, 3, 120, 160},
                                    {1, 3, 224, 224}, {1, 3, 96, 128}, {1, 3, 200, 100}, {1, 3, 111, 77},
                                    {1, 3, 32, 320},  {1, 3, 300, 300}};
  expect_fixed_answers(folder + "ultraface_slim320_fp32.onnx", {.global_scale = 4.0f}, open, shapes);
  expect_fixed_answers(folder + "mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx", {}, open, shapes);
}

TEST(OpenSizes, TellsWhatIsOpen) {
  const std::string path = write_pyramid("octavo_open_told.onnx");
  const auto compiled = compile(path, {.precision = Precision::fp32});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const ModelInfo info = compiled->info();
  ASSERT_EQ(info.sizes.size(), 3u);
  EXPECT_TRUE(info.plans.empty());
  EXPECT_EQ(info.open_inputs.at(0).shape.at(1), "3");
  EXPECT_EQ(info.open_outputs.at(0).name, "y");
  std::filesystem::remove(path);
}

// Whatever is asked for, the context goes on as it was.
TEST(OpenSizes, BadSizesAreErrorsThatNameThem) {
  const std::string path = write_pyramid("octavo_open_bad.onnx");
  const auto model =
      loaded(compile(path, {.precision = Precision::fp32, .shapes = {{"x", {{1, 8}, 3, {16, 64, 16}, 32}}}}));
  ASSERT_TRUE(model) << to_string(model.errors());
  const Dims good = {2, 3, 32, 32};
  auto context = Context::create(*model, {&good, 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  const auto before = answer(*context, 1);
  const auto refused = [&](const Dims& shape, const std::string& part) {
    const Status status = context->resize({&shape, 1});
    ASSERT_FALSE(status) << part;
    EXPECT_EQ(status.errors()[0].kind, ErrorKind::usage);
    EXPECT_NE(to_string(status.errors()).find(part), std::string::npos) << to_string(status.errors());
    EXPECT_TRUE(answer(*context, 1) == before);
  };
  refused({0, 3, 32, 32}, "dimension 0");
  refused({-1, 3, 32, 32}, "expected 1 to 8");
  refused({9, 3, 32, 32}, "expected 1 to 8");
  refused({std::int64_t{1} << 31, 3, 32, 32}, "dimension 0");
  refused({1, 3, 24, 32}, "expected 16 to 64, a multiple of 16");
  refused({1, 3, 32, 33}, "expected 32");
  refused({1, 4, 32, 32}, "dimension 1");
  refused({1, 3, 32}, "1x3x32, expected");
  std::filesystem::remove(path);
}

// The weights that only planning reads are checked when it does, not when the file is opened.
TEST(OpenSizes, DamagedWeightsAreFoundByWhoPlans) {
  const auto compiled = compile(write_pyramid("octavo_open_weights.onnx"), {.precision = Precision::fp32});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  std::vector<std::byte> bytes = compiled->bytes();
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::size_t damaged_at = 0;
  for (std::uint64_t i = 0; i < header.sections; ++i) {
    ArtifactSection section;
    std::memcpy(&section, bytes.data() + sizeof header + i * sizeof section, sizeof section);
    if (section.type == SectionType::weights) damaged_at = section.offset + section.bytes / 2;
  }
  ASSERT_GT(damaged_at, 0u);
  bytes[damaged_at] ^= std::byte{1};
  const auto opened = open(bytes, "damaged");
  ASSERT_TRUE(opened) << to_string(opened.errors());
  const auto model = Model::load(*opened, {.threads = 1});
  ASSERT_TRUE(model) << to_string(model.errors());
  const Dims shape = {2, 3, 16, 24};
  for (int i = 0; i < 2; ++i) {
    const auto context = Context::create(*model, {&shape, 1});
    ASSERT_FALSE(context);
    EXPECT_NE(to_string(context.errors()).find("damaged weights"), std::string::npos) << to_string(context.errors());
  }
}

// Bytes of the network that are wrong, with a checksum that is right: an error or a model, at load or at a size, and
// answers or none, but never a crash, and nothing taken that the file does not justify.
TEST(OpenSizes, DamagedNetworksAreErrors) {
  const std::string path = write_pyramid("octavo_open_damaged.onnx");
  const auto compiled = compile(path, {.precision = Precision::fp32});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const std::vector<std::byte> good = compiled->bytes();
  const std::size_t network = network_bytes(good);
  std::mt19937 random(11);
  int opened = 0, planned = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> bytes = good;
    for (int k = 0; k < 1 + i % 4; ++k) {
      const std::size_t at = bytes.size() - 1 - random() % network;
      bytes[at] = i % 3 == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
    }
    repair_checksum(bytes);
    const auto damaged = open(bytes, "damaged");
    if (!damaged) continue;
    ++opened;
    const auto model = Model::load(*damaged, {.threads = 1});
    if (!model) continue;
    const Dims shape = {2, 3, 16, 24};
    auto context = Context::create(*model, {&shape, 1});
    if (!context) continue;
    ++planned;
    answer(*context, 1);
  }
  EXPECT_GT(opened, planned);
  EXPECT_GT(planned, 0);
  std::filesystem::remove(path);
}

TEST(OpenSizes, TheCacheKeepsToItsBound) {
  const std::string path = write_pyramid("octavo_open_cache.onnx");
  const auto compiled = compile(path, {.precision = Precision::fp32});
  const auto model = loaded(compiled, {.threads = 1, .plan_cache_bytes = 1 << 20});
  ASSERT_TRUE(model) << to_string(model.errors());
  Dims shape = {1, 3, 8, 8};
  auto context = Context::create(*model, {&shape, 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  std::uint64_t packed = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    shape = {i % 4 + 1, 3, 8 + i % 40, 8 + i / 40};
    const Status resized = context->resize({&shape, 1});
    ASSERT_TRUE(resized) << to_string(resized.errors());
    EXPECT_LE(model->plan_cache().bytes, std::uint64_t{1} << 20);
    if (i == 100) packed = model->plan_cache().packed_bytes;
  }
  EXPECT_EQ(model->plan_cache().packed_bytes, packed);
  EXPECT_GT(model->plan_cache().dropped, 0u);
  const PlanCacheInfo now = model->plan_cache();
  const Status again = context->resize({&shape, 1});
  ASSERT_TRUE(again);
  EXPECT_EQ(model->plan_cache().hits, now.hits + 1);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace octavo::v1
