// Broken and hostile .octv files, run by the program. Part of tests/errors/.
#include "artifact/artifact.h"

#include <algorithm>
#include <cstring>

#include "artifact/format.h"
#include "base/machine.h"
#include "data/npy.h"
#include "errors/broken_case.h"

namespace octavo::testing {
namespace {

constexpr const char* kArtifactRun = "run m.octv --input x.npy --output-dir .";
const std::string kCompileDigits =
    "compile " OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx -o m.octv --calibrate " OCTAVO_SOURCE_DIR
    "/examples/digits/calibration.npz "
    "--preprocess tf --samples 8";

void write_input(const ScratchFolder& folder) {
  const Status written = write_npy(folder.path("x.npy"), Tensor(DType::f32, Shape{1, 1, 8, 8}).view());
  ASSERT_TRUE(written) << to_string(written.errors());
}

// digits.octv, compiled once by the program under test.
const std::string& compiled_digits() {
  static const std::string bytes = [] {
    const ScratchFolder folder;
    const Outcome outcome = run_program(folder, kCompileDigits + " --batch 1,4");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return read_bytes(folder.path("m.octv"));
  }();
  return bytes;
}

ArtifactHeader header_of(const std::string& bytes) {
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// Section `index` of the table, in the order in which they are written.
constexpr std::size_t kPlans = 1, kConstants = 3;
ArtifactSection section_of(const std::string& bytes, std::size_t index) {
  ArtifactSection section;
  std::memcpy(&section, bytes.data() + sizeof(ArtifactHeader) + index * sizeof section, sizeof section);
  return section;
}

std::string repaired(std::string bytes) {
  repair_checksum(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// The header as changed, with a checksum that is right.
std::string with_header(const std::function<void(ArtifactHeader&)>& change) {
  std::string bytes = compiled_digits();
  ArtifactHeader header = header_of(bytes);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return repaired(bytes);
}

std::string with_section(std::size_t index, const std::function<void(ArtifactSection&)>& change) {
  std::string bytes = compiled_digits();
  ArtifactSection section = section_of(bytes, index);
  change(section);
  std::memcpy(bytes.data() + sizeof(ArtifactHeader) + index * sizeof section, &section, sizeof section);
  return repaired(bytes);
}

// The model as changed, encoded again.
std::string with_model(const std::function<void(CompiledModel&)>& change) {
  const std::string& bytes = compiled_digits();
  auto model = parse_artifact(std::as_bytes(std::span(bytes)), "m.octv");
  if (!model) return "";
  change(*model);
  const AlignedBytes encoded = encode_artifact(*model);
  return {reinterpret_cast<const char*>(encoded.data()), encoded.size()};
}

BrokenCase file_case(std::string name, std::function<std::string()> make, std::vector<std::string> parts,
                     int exit_code = kInvalid) {
  const auto write = [make = std::move(make)](const ScratchFolder& folder) {
    folder.write("m.octv", make());
    write_input(folder);
  };
  return {std::move(name), write, kArtifactRun, exit_code, std::move(parts)};
}

BrokenCase model_case(const std::string& name, const std::function<void(CompiledModel&)>& change,
                      std::vector<std::string> parts, int exit_code = kInvalid) {
  parts.push_back("plan 0");
  return file_case(
      name, [change] { return with_model(change); }, std::move(parts), exit_code);
}

std::vector<BrokenCase> damaged_files() {
  const auto cut = [](auto end_of) {
    return [end_of] { return compiled_digits().substr(0, end_of(compiled_digits())); };
  };
  using Text = const std::string&;
  return {
      file_case("WrongMagic",
                [] {
                  std::string bytes = compiled_digits();
                  bytes[1] = 'o';
                  return bytes;
                },
                {"m.octv"}),
      file_case("WrongVersion",
                [] { return with_header([](ArtifactHeader& header) { header.version = kArtifactVersion + 1; }); },
                {"m.octv", "format version " + std::to_string(kArtifactVersion + 1), "Compile the model again"}),
      file_case("CutInTheHeader", cut([](Text) { return sizeof(ArtifactHeader) - 1; }), {"m.octv", "truncated"}),
      file_case("CutAfterTheHeader", cut([](Text) { return sizeof(ArtifactHeader); }), {"m.octv", "truncated"}),
      file_case("CutInTheMetadata",
                cut([](Text all) { return section_of(all, kPlans).offset + section_of(all, kPlans).bytes / 2; }),
                {"m.octv", "truncated"}),
      file_case("CutBeforeTheConstants", cut([](Text all) { return section_of(all, kConstants).offset; }),
                {"m.octv", "truncated"}),
      file_case("CutInTheConstants", cut([](Text all) { return all.size() - 1; }), {"m.octv", "truncated"}),
      file_case("CutWithARepairedChecksum",
                [] { return repaired(compiled_digits().substr(0, compiled_digits().size() / 2)); },
                {"m.octv", "section"}),
      file_case("BytesAfterTheEnd", [] { return compiled_digits() + "more"; }, {"m.octv", "4 bytes after the end"}),
      file_case("FlippedBitInTheConstants",
                [] {
                  std::string bytes = compiled_digits();
                  bytes[bytes.size() - 100] ^= 1;
                  return bytes;
                },
                {"m.octv", "checksum"}),
      file_case(
          "SectionPastTheEnd",
          [] { return with_section(kPlans, [](ArtifactSection& section) { section.bytes = ~std::uint64_t{0}; }); },
          {"m.octv", "section"}),
      file_case("ConstantsOffThePage",
                [] { return with_section(kConstants, [](ArtifactSection& section) { section.offset += 64; }); },
                {"m.octv", "section"}),
      file_case("MoreSectionsThanThereAre",
                [] { return with_header([](ArtifactHeader& header) { header.sections = ~std::uint64_t{0}; }); },
                {"m.octv", "section table"}),
      file_case("NoPlans",
                [] { return with_section(kPlans, [](ArtifactSection& section) { section.type = SectionType{77}; }); },
                {"m.octv", "no section of type 2"}),
      file_case("PlansTwice",
                [] { return with_section(0, [](ArtifactSection& section) { section.type = SectionType::plans; }); },
                {"m.octv", "two sections of type 2"}),
      file_case("MetadataOfOnes",
                [] {
                  std::string bytes = compiled_digits();
                  const ArtifactSection plans = section_of(bytes, kPlans);
                  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(plans.offset), plans.bytes, '\xff');
                  return repaired(bytes);
                },
                {"m.octv", "metadata"}),
  };
}

// The first step whose kernel packed its constants.
PlanStep& packing_step(CompiledModel& model) {
  std::vector<PlanStep>& steps = model.plans[0].steps;
  return *std::find_if(steps.begin(), steps.end(), [](const PlanStep& step) { return !step.packed.empty(); });
}

PlanValue& value_of(CompiledModel& model, ValueIndex index) {
  return model.plans[0].values[static_cast<std::size_t>(index)];
}

// The step reads a value like its first input, but one that is said to be packed.
void say_packed(CompiledModel& model) {
  PlanStep& step = packing_step(model);
  PlanValue packed = value_of(model, step.inputs[0]);
  packed.place = Place::packed;
  packed.view_of = kNoValue;
  step.inputs[0] = static_cast<ValueIndex>(model.plans[0].values.size());
  model.plans[0].values.push_back(packed);
}

std::vector<BrokenCase> lying_models() {
  return {
      model_case("ImageSaidToBePacked", say_packed, {"quantized_conv", "packed"}),
      model_case("ShortPackedWeights",
                 [](CompiledModel& model) { value_of(model, packing_step(model).packed[0]).shape = {1}; },
                 {"quantized_conv", "packed"}),
      model_case("NoPackedWeights", [](CompiledModel& model) { packing_step(model).packed.clear(); },
                 {"quantized_conv", "packed"}),
      model_case("UnknownKernel", [](CompiledModel& model) { model.plans[0].steps[1].kernel = "conv_of_tomorrow"; },
                 {"step 1", "'conv_of_tomorrow'"}),
      model_case("UnknownOperator", [](CompiledModel& model) { model.plans[0].steps[1].op = "teleport"; },
                 {"step 1", "'teleport'"}),
      model_case(
          "ArenaOfAnExabyte", [](CompiledModel& model) { model.plans[0].arena_bytes = std::uint64_t{1} << 60; },
          {"arena"}, kResource),
      model_case("NoConstants", [](CompiledModel& model) { model.constants = {}, model.network.reset(); },
                 {"constants"}),
      file_case("WeightsBeyondTheConstants",
                [] { return with_model([](CompiledModel& model) { model.network->weight_bytes = 1 << 30; }); },
                {"weights", "1073741824 bytes"}),
      model_case("OutputThatNobodyMakes", [](CompiledModel& model) { model.plans[0].steps.pop_back(); },
                 {"which no step computes"}),
      model_case("HugeInput",
                 [](CompiledModel& model) {
                   value_of(model, model.plans[0].inputs[0].value).shape = {1, 1, std::int64_t{1} << 62, 8};
                 },
                 {"dimensions"}),
  };
}

class BrokenArtifact : public Broken {};
TEST_P(BrokenArtifact, IsRefusedByName) { check(); }
INSTANTIATE_TEST_SUITE_P(Files, BrokenArtifact, ::testing::ValuesIn(damaged_files()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Models, BrokenArtifact, ::testing::ValuesIn(lying_models()), name_of_case);

TEST(BrokenArtifacts, MissingInstructionsAreNamed) {
  if (!has_program()) GTEST_SKIP() << "needs program: it was not built";
  if (host_machine().isa.has(Isa::amx_int8)) GTEST_SKIP() << "this machine has AMX";
  const ScratchFolder folder;
  folder.write("m.octv", with_model([](CompiledModel& model) {
                 for (Plan& plan : model.plans) {
                   plan.machine.name = "amx";
                   plan.needs.add(Isa::amx_int8);
                 }
               }));
  write_input(folder);
  const Outcome outcome = run_program(folder, kArtifactRun);
  EXPECT_EQ(outcome.exit_code, kResource) << outcome.text;
  for (const char* part : {"amx_int8", "digits.onnx", "--target host"})
    EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
}

TEST(BrokenArtifacts, BatchesThatItLacksAreAnsweredWithThoseItHas) {
  if (!has_program()) GTEST_SKIP() << "needs program: it was not built";
  const ScratchFolder folder;
  folder.write("m.octv", compiled_digits());
  const Outcome outcome = run_program(folder, "bench m.octv --batch 64 --seconds 0.1");
  EXPECT_EQ(outcome.exit_code, kUsage) << outcome.text;
  for (const char* part : {"m.octv", "int8 batch 1", "int8 batch 4"})
    EXPECT_NE(outcome.text.find(part), std::string::npos) << outcome.text;
}

// Whatever a bit of the metadata says, the program ends by itself with one of its exit codes.
TEST(BrokenArtifacts, FlippedMetadataNeverCrashes) {
  if (!has_program()) GTEST_SKIP() << "needs program: it was not built";
  const std::string& bytes = compiled_digits();
  const ArtifactSection plans = section_of(bytes, kPlans);
  const ScratchFolder folder;
  write_input(folder);
  constexpr std::uint64_t kFlips = 48;
  for (std::uint64_t flip = 0; flip < kFlips; ++flip) {
    const std::uint64_t bit = plans.bytes * 8 / kFlips * flip + flip % 8;
    std::string broken = bytes;
    broken[plans.offset + bit / 8] ^= static_cast<char>(1 << (bit % 8));
    folder.write("m.octv", repaired(broken));
    const Outcome outcome = run_program(folder, "run m.octv --input x.npy --output-dir out --threads 1");
    const bool is_ours = outcome.exit_code == 0 || (outcome.exit_code >= kUsage && outcome.exit_code <= kResource);
    EXPECT_TRUE(is_ours) << "bit " << bit << ": exit code " << outcome.exit_code << "\n" << outcome.text;
  }
}

}  // namespace
}  // namespace octavo::testing
