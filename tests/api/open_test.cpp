// Models with open sizes: what they tell, what they refuse, damaged files, the cache of plans.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "api/open_answers.h"
#include "api/open_networks.h"
#include "artifact/artifact.h"
#include "artifact/format.h"
#include "run/model.h"

namespace octavo::v1 {
namespace {

using testing::answer;
using testing::Dims;
using testing::fixed_answer;
using testing::loaded;
using testing::noise;
using testing::write_pyramid;

// Of an .octv.
ArtifactSection section_of(std::span<const std::byte> file, SectionType type) {
  ArtifactHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  ArtifactSection section;
  for (std::uint64_t i = 0; i < header.sections && section.type != type; ++i)
    std::memcpy(&section, file.data() + sizeof header + i * sizeof section, sizeof section);
  EXPECT_EQ(section.type, type);
  return section;
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

// Sizes that were planned for come from the file, with the bytes of a compilation for each alone; others are made.
void expect_planned(const std::string& path, CompileOptions options, const std::vector<Dims>& shapes,
                    const Dims& other) {
  CompileOptions fixed = options;
  for (const Dims& shape : shapes) options.planned_shapes.push_back({{"x", shape}});
  const auto model = loaded(compile(path, options));
  ASSERT_TRUE(model) << to_string(model.errors());
  const ModelInfo info = model->info();
  ASSERT_EQ(info.plans.size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(info.plans[i].inputs.at(0).shape, shapes[i]);
    EXPECT_EQ(info.plans[i].batch, shapes[i][0]);
    auto context = Context::create(*model, {&shapes[i], 1});
    ASSERT_TRUE(context) << to_string(context.errors());
    EXPECT_TRUE(answer(*context, 7) == fixed_answer(path, fixed, "x", shapes[i], 7)) << i;
  }
  EXPECT_EQ(model->plan_cache().made, 0u);
  auto context = Context::create(*model, {&other, 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  EXPECT_TRUE(answer(*context, 8) == fixed_answer(path, fixed, "x", other, 8));
  EXPECT_EQ(model->plan_cache().made, 1u);
}

TEST(OpenSizes, PlannedShapesAreInTheFile) {
  const std::string path = write_pyramid("octavo_planned.onnx");
  const std::vector<Dims> shapes = {{1, 3, 64, 48}, {2, 3, 16, 16}, {8, 3, 31, 33}};
  const CompileOptions int8{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};
  for (CompileOptions options : {CompileOptions{.precision = Precision::fp32}, int8}) {
    expect_planned(path, options, shapes, {3, 3, 20, 7});
    options.shapes = {{"x", {{1, 8}, 3, {16, 64}, {16, 64}}}};
    expect_planned(path, options, shapes, {3, 3, 20, 17});
  }
  std::filesystem::remove(path);
}

TEST(OpenSizes, PlannedShapesThatCannotBeAreErrors) {
  const std::string path = write_pyramid("octavo_planned_bad.onnx");
  const CompileOptions good{.precision = Precision::fp32, .shapes = {{"x", {{1, 8}, 3, {16, 64, 16}, 32}}}};
  const auto refused = [&](const CompileOptions& options, const std::string& part) {
    const auto compiled = compile(path, options);
    ASSERT_FALSE(compiled) << part;
    EXPECT_EQ(compiled.errors()[0].kind, ErrorKind::usage);
    EXPECT_NE(to_string(compiled.errors()).find(part), std::string::npos) << to_string(compiled.errors());
  };
  const auto at = [&](const std::vector<InputShapes>& shapes) {
    CompileOptions options = good;
    options.planned_shapes = shapes;
    return options;
  };
  ASSERT_TRUE(compile(path, at({{{"x", {1, 3, 64, 32}}}, {{"x", {1, 3, 32, 32}}}})));
  refused(at({{{"x", {1, 3, 64, 32}}}, {{"x", {1, 3, 64, 32}}}}), "x=1x3x64x32 more than once");
  refused(at({{{"x", {1, 3, 80, 32}}}}), "input 'x', dimension 2: found 80 (1x3x80x32), expected 16 to 64, a multiple");
  refused(at({{{"x", {1, 3, 16, 64}}}}), "input 'x', dimension 3: found 64 (1x3x16x64), expected 32");
  refused(at({{{"x", {1, 3, 32}}}}), "input 'x': found 1x3x32, expected");
  refused(at({{}}), "input 'x', dimension 0: found no shape that says it, expected 1 to 8");
  refused(at({{{"y", {1, 3, 32, 32}}}}), "'y', which is no input, expected 'x'");
  CompileOptions both = at({{{"x", {1, 3, 64, 32}}}});
  both.batches = {1, 8};
  refused(both, "--batch: found [1,8] beside shapes to plan for");
  // Of a file without open sizes there is one.
  CompileOptions fixed = at({{{"x", {1, 3, 32, 32}}}});
  fixed.shapes = {{"x", {1, 3, 32, 32}}};
  EXPECT_TRUE(compile(path, fixed));
  fixed.planned_shapes = {{{"x", {1, 3, 16, 32}}}};
  refused(fixed, "dimension 2: found 16 (1x3x16x32), expected 32");
  std::filesystem::remove(path);
}

// At batch 1, or the least there is.
TEST(OpenSizes, SamplesHaveTheFirstPlannedShape) {
  const std::string path = write_pyramid("octavo_planned_samples.onnx");
  Dims seen;
  const auto fill = [&](std::int64_t, std::span<const TensorRef> inputs) {
    seen.assign(inputs[0].shape.begin(), inputs[0].shape.end());
    const auto bytes = noise(static_cast<std::size_t>(seen[0] * seen[1] * seen[2] * seen[3]) * 4, 3);
    std::memcpy(inputs[0].data, bytes.data(), bytes.size());
    return ok_status();
  };
  CompileOptions options{.planned_shapes = {{{"x", {4, 3, 40, 24}}}, {{"x", {8, 3, 16, 16}}}},
                         .samples = {.count = 2, .fill = fill},
                         .allow_reference = true};
  EXPECT_TRUE(compile(path, options));
  EXPECT_EQ(seen, (Dims{1, 3, 40, 24}));
  options.shapes = {{"x", {{4, 8}, 3, {16, 40}, {16, 24}}}};
  EXPECT_TRUE(compile(path, options));
  EXPECT_EQ(seen, (Dims{4, 3, 40, 24}));
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
  const ArtifactSection weights = section_of(bytes, SectionType::weights);
  bytes[weights.offset + weights.bytes / 2] ^= std::byte{1};
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

// Bytes of a section that are wrong, with a checksum that is right: an error or a model, at load or at a size, and
// answers or none, but never a crash, and nothing taken that the file does not justify.
void expect_errors_of_damage(SectionType type) {
  const std::string path = write_pyramid("octavo_open_damaged_" + std::to_string(static_cast<int>(type)) + ".onnx");
  const auto compiled = compile(path, {.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const std::vector<std::byte> good = compiled->bytes();
  const ArtifactSection section = section_of(good, type);
  std::mt19937 random(11);
  int opened = 0, planned = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> bytes = good;
    for (int k = 0; k < 1 + i % 4; ++k) {
      const std::size_t at = section.offset + random() % section.bytes;
      bytes[at] = i % 3 == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
    }
    repair_checksum(bytes);
    const auto damaged = open(bytes, "damaged");
    if (!damaged) continue;
    ++opened;
    // A large network may be legal, too.
    const auto model = Model::load(*damaged, {.threads = 1, .context_bytes = std::uint64_t{8} << 20});
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

TEST(OpenSizes, DamagedNetworksAreErrors) { expect_errors_of_damage(SectionType::network); }
TEST(OpenSizes, DamagedPackingsAreErrors) { expect_errors_of_damage(SectionType::packings); }

// Bytes that a first size adds to the constants of a file.
std::uint64_t added_by_first_size(octavo::CompiledModel file) {
  const auto model = load_model(std::move(file), {.threads = 1});
  EXPECT_TRUE(model) << to_string(model.errors());
  const Shape shape{2, 21, 32};
  EXPECT_TRUE((*model)->plan_for({&shape, 1}));
  return (*model)->plan_cache().packed_bytes;
}

// Sizes find the weights as kernels packed them when the file was made.
TEST(OpenSizes, TheFirstSizeFindsPackedWeights) {
  const std::string path = testing::write_encoder("octavo_open_packed.onnx");
  const CompileOptions options{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};
  const auto compiled = compile(path, options);
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const std::vector<std::byte> bytes = compiled->bytes();
  auto file = parse_artifact(bytes, "packed");
  ASSERT_TRUE(file) << to_string(file.errors());
  EXPECT_FALSE(file->packings.empty());
  auto unpacked = *file;
  unpacked.packings.clear();
  EXPECT_LT(2 * added_by_first_size(*file), added_by_first_size(std::move(unpacked)));
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
