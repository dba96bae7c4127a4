// Models with open sizes: what they tell, what they refuse, damaged files, the cache of plans.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "api/open_answers.h"
#include "api/open_networks.h"
#include "artifact/artifact.h"
#include "artifact/format.h"

namespace octavo::v1 {
namespace {

using testing::answer;
using testing::Dims;
using testing::loaded;
using testing::write_pyramid;

// Of the last section of an .octv.
std::size_t network_bytes(std::span<const std::byte> file) {
  ArtifactHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  ArtifactSection last;
  std::memcpy(&last, file.data() + sizeof header + (header.sections - 1) * sizeof last, sizeof last);
  EXPECT_EQ(last.type, SectionType::network);
  return last.bytes;
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
