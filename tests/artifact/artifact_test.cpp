// Round trips and every kind of damage of an .octv file. Tests of artifact/.
#include "artifact/artifact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "artifact/format.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

struct Artifact : ::testing::Test {
  Graph graph = testing::chain_graph();
  CompiledModel model = testing::compile_graphs({&graph});
  AlignedBytes bytes = encode_artifact(model);
  fs::path folder = fs::temp_directory_path() /
                    ("octavo_artifact_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());

  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string message_of(std::span<const std::byte> data) {
    const auto read = parse_artifact(data, "m.octv");
    if (read) return "";
    EXPECT_EQ(read.errors()[0].kind, ErrorKind::invalid_input);
    return read.errors()[0].message();
  }
  void expect_message(std::span<const std::byte> data, const std::string& part) {
    EXPECT_NE(message_of(data).find(part), std::string::npos) << message_of(data);
  }
  static void expect_equal(const CompiledModel& a, const CompiledModel& b) {
    EXPECT_EQ(a.source, b.source);
    EXPECT_EQ(a.dialect, b.dialect);
    EXPECT_EQ(a.source_nodes, b.source_nodes);
    EXPECT_EQ(a.pictures, b.pictures);
    EXPECT_EQ(a.plans, b.plans);
    EXPECT_TRUE(std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end()));
  }
};

TEST_F(Artifact, ARoundTripKeepsEverything) {
  const std::string path = (folder / "m.octv").string();
  model.pictures = "torch,resize=232";
  ASSERT_TRUE(write_artifact(model, path));
  const auto read = read_artifact(path);
  ASSERT_TRUE(read) << to_string(read.errors());
  expect_equal(*read, model);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read->constants.data()) % kAlignment, 0u);
  const auto parsed = parse_artifact(encode_artifact(model), "m.octv");
  ASSERT_TRUE(parsed);
  expect_equal(*parsed, model);
}

TEST_F(Artifact, TheSameModelGivesTheSameBytes) {
  EXPECT_EQ(bytes, encode_artifact(testing::compile_graphs({&graph})));
}

TEST_F(Artifact, CoresOfTheCompilingMachineAreNotInIt) {
  Machine machine = host_machine();
  machine.cores += 7;
  EXPECT_EQ(bytes, encode_artifact(testing::compile_graphs({&graph}, machine)));
}

std::size_t sections_in(const AlignedBytes& bytes) {
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.sections;
}

TEST_F(Artifact, AReportMayBeStripped) {
  ASSERT_FALSE(model.plans[0].report.steps.empty());
  CompiledModel stripped = model;
  stripped.plans[0].report = {};
  const AlignedBytes shorter = encode_artifact(stripped);
  EXPECT_EQ(sections_in(shorter), sections_in(bytes) - 1);
  auto read = parse_artifact(shorter, "m.octv");
  ASSERT_TRUE(read) << to_string(read.errors());
  expect_equal(*read, stripped);
  const auto loaded = load_model(std::move(*read), {.threads = 1});
  ASSERT_TRUE(loaded) << to_string(loaded.errors());
  auto context = Context::create(*loaded), whole = Context::create(*load_model(model, {.threads = 1}));
  ASSERT_TRUE(context && whole);
  const std::vector<Tensor> inputs = testing::random_inputs(graph, 1);
  EXPECT_EQ(testing::run_once(*context, inputs), testing::run_once(*whole, inputs));
}

TEST_F(Artifact, SectionsOfUnknownTypesAreSkipped) {
  // The report's section, under a type that no release has given out yet.
  ArtifactSection section;
  std::byte* const reports = bytes.data() + sizeof(ArtifactHeader) + 2 * sizeof section;
  std::memcpy(&section, reports, sizeof section);
  ASSERT_EQ(section.type, SectionType::reports);
  section.type = SectionType{1000};
  std::memcpy(reports, &section, sizeof section);
  repair_checksum(bytes);
  const auto read = parse_artifact(bytes, "m.octv");
  ASSERT_TRUE(read) << to_string(read.errors());
  model.plans[0].report = {};
  expect_equal(*read, model);
}

TEST_F(Artifact, AMappedModelOutlivesItsFile) {
  const std::string path = (folder / "m.octv").string();
  ASSERT_TRUE(write_artifact(model, path));
  auto read = read_artifact(path);
  ASSERT_TRUE(read);
  fs::remove(path);
  auto loaded = load_model(std::move(*read), {.threads = 1});
  ASSERT_TRUE(loaded) << to_string(loaded.errors());
}

TEST_F(Artifact, EveryTruncationIsRecognised) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = message_of(std::span(bytes).first(size));
    const char* expected = size < kArtifactMagic.size() ? "something else" : "truncated";
    ASSERT_NE(message.find(expected), std::string::npos) << size << ": " << message;
  }
}

TEST_F(Artifact, EveryFlippedBitIsRecognised) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= std::byte{static_cast<unsigned char>(1 << bit)};
      ASSERT_NE(message_of(bytes), "") << "byte " << i << " bit " << bit;
      bytes[i] ^= std::byte{static_cast<unsigned char>(1 << bit)};
    }
  }
}

TEST_F(Artifact, MessagesSayWhatIsWrong) {
  expect_message(std::as_bytes(std::span("plain text that is no model at all")), "expected an .octv file");
  AlignedBytes other = bytes;
  const std::uint32_t version = kArtifactVersion + 7;
  std::memcpy(other.data() + offsetof(ArtifactHeader, version), &version, sizeof version);
  expect_message(
      other, "format version " + std::to_string(version) + ", expected version " + std::to_string(kArtifactVersion));
  other = bytes;
  std::reverse(other.data() + offsetof(ArtifactHeader, version),
               other.data() + offsetof(ArtifactHeader, version) + sizeof version);
  expect_message(other, "big-endian numbers, expected little-endian ones");
  other = bytes;
  other.back() ^= std::byte{1};
  expect_message(other, "damaged .octv file with checksum");
  other = bytes;
  other.push_back({});
  expect_message(other, "1 bytes after the end");
}

TEST_F(Artifact, FilesThatCannotBeReadAreResourceErrors) {
  const auto missing = read_artifact((folder / "none.octv").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.errors()[0].kind, ErrorKind::resource);
  const auto directory = read_artifact(folder.string());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.errors()[0].kind, ErrorKind::resource);
  std::ofstream(folder / "empty.octv").flush();
  const auto empty = read_artifact((folder / "empty.octv").string());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.errors()[0].kind, ErrorKind::invalid_input);
}

TEST_F(Artifact, AFailedWriteLeavesNothingBehind) {
  const auto failed = write_artifact(model, (folder / "no such folder" / "m.octv").string());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.errors()[0].kind, ErrorKind::resource);
  fs::create_directories(folder / "m.octv" / "occupied");  // cannot be replaced by a file
  EXPECT_FALSE(write_artifact(model, (folder / "m.octv").string()));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  EXPECT_EQ(names, std::set<std::string>{"m.octv"});
}

TEST_F(Artifact, AWriteReplacesTheWholeFile) {
  const std::string path = (folder / "m.octv").string();
  std::ofstream(path) << std::string(1 << 20, 'x');
  ASSERT_TRUE(write_artifact(model, path));
  EXPECT_EQ(fs::file_size(path), bytes.size());
}

// What loads must be safe to run; what does not must say why.
void load_and_run(const AlignedBytes& bytes) {
  auto model = parse_artifact(bytes, "m.octv");
  if (!model) return;
  auto loaded = load_model(std::move(*model), {.threads = 1});
  if (!loaded) {
    ASSERT_FALSE(loaded.errors().empty());
    return;
  }
  for (std::size_t plan = 0; plan < (*loaded)->plans().size(); ++plan) {
    auto context = Context::create(*loaded, {.plan = plan});
    if (!context) continue;
    std::vector<Tensor> inputs;
    const Plan& made = context->plan();
    for (std::size_t i = 0; i < made.inputs.size(); ++i)
      inputs.emplace_back(made.input(i).dtype, Shape(made.input(i).shape));
    testing::run_once(*context, inputs);
  }
}

TEST_F(Artifact, EveryBitOfTheMetadataMayBeWrongAndNothingCrashes) {
  const auto end = static_cast<std::size_t>(bytes.size() - model.constants.size());
  for (std::size_t i = 0; i < end; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      AlignedBytes broken = bytes;
      broken[i] ^= std::byte{static_cast<unsigned char>(1 << bit)};
      repair_checksum(broken);
      ASSERT_NO_FATAL_FAILURE(load_and_run(broken)) << "byte " << i << " bit " << bit;
    }
  }
}

}  // namespace
}  // namespace octavo
