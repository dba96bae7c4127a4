// Archives of torch.export that are broken, hostile or of another kind. Part of tests/errors/.
#include "errors/broken_case.h"
#include "support/zip_builder.h"

namespace octavo::testing {
namespace {

using Entries = std::map<std::string, std::string>;
using Change = std::function<void(Entries&)>;

constexpr const char* kProgram = "archive/models/model.json";
constexpr const char* kConfig = "archive/data/weights/model_weights_config.json";
constexpr const char* kStateDict = "serialized_state_dict.pt";

BrokenCase pt2_bytes_case(std::string name, std::function<std::string()> bytes, int exit_code,
                          std::vector<std::string> parts) {
  parts.emplace_back("m.pt2");
  const auto write = [=](const ScratchFolder& folder) { folder.write("m.pt2", bytes()); };
  return {std::move(name), write, "compile m.pt2 -o m.octv", exit_code, std::move(parts)};
}

// A good archive with changed entries.
BrokenCase entry_case(std::string name, const Change& change, int exit_code, std::vector<std::string> parts,
                      const std::string& from = "pt2e") {
  const auto bytes = [=] {
    Entries entries = entries_of(source_file("tests/import/pt2/" + from + ".pt2"));
    EXPECT_GT(entries.size(), 3u) << from;
    change(entries);
    return zip_of(members_of(entries));
  };
  return pt2_bytes_case(std::move(name), bytes, exit_code, std::move(parts));
}

// The first `old_text` of an entry becomes `new_text`.
Change pt2_replaced(const std::string& entry, const std::string& old_text, const std::string& new_text) {
  return [=](Entries& entries) {
    std::string& bytes = entries.at(entry);
    const std::size_t at = bytes.find(old_text);
    ASSERT_NE(at, std::string::npos) << old_text;
    bytes.replace(at, old_text.size(), new_text);
  };
}

// The number after the first `before` in the program becomes another text.
Change number_after(const std::string& before, const std::string& text) {
  return [=](Entries& entries) {
    std::string& bytes = entries.at(kProgram);
    const std::size_t at = bytes.find(before) + before.size();
    ASSERT_NE(bytes.find(before), std::string::npos) << before;
    bytes.replace(at, bytes.find('}', at) - at, text);
  };
}

BrokenCase program_case(std::string name, const std::string& old_text, const std::string& new_text, int exit_code,
                        std::vector<std::string> parts) {
  return entry_case(std::move(name), pt2_replaced(kProgram, old_text, new_text), exit_code, std::move(parts));
}

// One member beside the good ones, or in place of one of the same name.
BrokenCase member_case(std::string name, const ZipMember& member, int exit_code, std::vector<std::string> parts) {
  const auto bytes = [=] {
    auto members = members_of(entries_of(source_file("tests/import/pt2/pt2e.pt2")));
    if (!member.bytes.empty() || member.said_size)
      std::erase_if(members, [&](const ZipMember& other) { return other.name == member.name; });
    members.push_back(member);
    return zip_of(members);
  };
  return pt2_bytes_case(std::move(name), bytes, exit_code, std::move(parts));
}

// A state dict with this pickle.
BrokenCase pickle_case(std::string name, const std::string& pickle, int exit_code, std::vector<std::string> parts) {
  const auto change = [=](Entries& entries) {
    entries[kStateDict] = zip_of({{"archive/data.pkl", pickle}, {"archive/data/0", "12345678"}});
  };
  parts.emplace_back("data.pkl");
  return entry_case(std::move(name), change, exit_code, std::move(parts), "pt2e_serialized");
}

std::vector<BrokenCase> zip_cases() {
  const auto file = [] { return zip_of(members_of(entries_of(source_file("tests/import/pt2/pt2e.pt2")))); };
  const auto weight = [](std::string bytes) { return ZipMember{"archive/data/weights/weight_18", std::move(bytes)}; };
  ZipMember damaged = weight(std::string(96, 'x')), endless = weight("x"), packed = weight("x");
  damaged.said_crc = 0;
  endless.said_size = 0xfffffff0u;
  packed.said_method = 12;
  return {
      pt2_bytes_case("Truncated", [=] { return file().substr(0, 20000); }, kInvalid, {"may be truncated"}),
      pt2_bytes_case("OnlyAHeader", [=] { return file().substr(0, 64); }, kInvalid, {"no zip archive"}),
      pt2_bytes_case("NoEntries", [] { return "PK\x03\x04" + zip_of({}); }, kUnsupported,
                     {"without the entries of an exported program"}),
      member_case("WrongChecksum", damaged, kInvalid, {"data/weights/weight_18", "may be damaged"}),
      member_case("UnpacksToMore", endless, kInvalid, {"bytes unpacked from", "200 times"}),
      member_case("UnknownCompression", packed, kUnsupported, {"weight_18", "compression method 12"}),
      member_case("AbsolutePath", {"/etc/passwd", ""}, kInvalid, {"'/etc/passwd'", "absolute path"}),
      member_case("ParentPath", {"archive/../../x", ""}, kInvalid, {"parent folder"}),
      member_case("OtherSystemsPath", {"archive\\x", ""}, kInvalid, {"another system"}),
      member_case("SameNameTwice", {"archive/archive_version", ""}, kInvalid, {"archive_version' a second time"}),
      member_case("ShorterWeight", weight(std::string(95, 'x')), kInvalid, {"95 bytes", "96"}),
  };
}

std::vector<BrokenCase> layout_cases() {
  const auto without = [](const std::string& entry) { return [=](Entries& entries) { entries.erase(entry); }; };
  const auto with = [](const std::string& entry, const std::string& bytes) {
    return [=](Entries& entries) { entries[entry] = bytes; };
  };
  const auto only = [](const std::string& name) { return [=] { return zip_of({{name, "1"}}); }; };
  return {
      entry_case("UnknownArchiveVersion", with("archive/archive_version", "1"), kUnsupported,
                 {"archive_version", "'1'", "'0'"}),
      entry_case("BigEndian", with("archive/byteorder", "big"), kUnsupported, {"byteorder", "'big'"}),
      entry_case("TwoPrograms", with("archive/models/other.json", "{}"), kUnsupported, {"2 programs"}),
      entry_case("NoProgram", without(kProgram), kUnsupported, {"no program"}),
      entry_case("NoConfig", without(kConfig), kInvalid, {"model_weights_config.json"}),
      entry_case("MissingEntry", without("archive/data/weights/weight_17"), kInvalid,
                 {"no entry 'data/weights/weight_17'"}),
      entry_case("OldSchema", with("version", "7.3"), kUnsupported, {"version 7.3", "version 8"}, "pt2e_serialized"),
      pt2_bytes_case("TorchScript", only("model/data.pkl"), kUnsupported,
                     {"torch.save or TorchScript", "torch.export.save"}),
      pt2_bytes_case("SomeZip", only("readme.txt"), kUnsupported, {"without the entries of an exported program"}),
  };
}

std::vector<BrokenCase> program_cases() {
  const std::string conv = "torch.ops.aten.conv2d.default", scale = "\"scale\",\"arg\":{\"as_float\":";
  const auto json = [](const std::string& text) { return [=](Entries& entries) { entries[kProgram] = text; }; };
  const auto two_unknown = [=](Entries& entries) {
    pt2_replaced(kProgram, conv, "torch.ops.aten.fft_fft.default")(entries);
    pt2_replaced(kProgram, "torch.ops.aten.linear.default", "torch.ops.my.own.default")(entries);
  };
  return {
      entry_case("NoJson", json("{\"graph"), kInvalid, {"models/model.json", "no JSON from byte 8 on"}),
      entry_case("DeepJson", json(std::string(100000, '[')), kInvalid, {"models/model.json"}),
      entry_case("DeepJsonThatEnds", json(std::string(1000, '[') + std::string(1000, ']')), kInvalid,
                 {"nested deeper than 64"}),
      entry_case("EmptyObject", json("{}"), kInvalid, {"schema_version"}),
      entry_case("UnknownOperators", two_unknown, kUnsupported,
                 {"operator aten.fft_fft.default", "'conv2d'", "operator my.own.default", "'linear'"}),
      program_case("NewSchema", "\"major\":8", "\"major\":9", kUnsupported, {"schema 9.", "schema 8"}),
      program_case("HugeInteger", "\"as_ints\":[2,2]", "\"as_ints\":[99999999999999999999,2]", kInvalid,
                   {"an integer of 64 bits"}),
      program_case("WrongKind", "\"as_ints\":[2,2]", "\"as_string\":\"two\"", kInvalid,
                   {"aten.conv2d.default", "'stride'"}),
      program_case("NegativeStride", "\"as_ints\":[2,2]", "\"as_ints\":[-2,2]", kInvalid, {"node 'conv2d'"}),
      program_case("UnknownArgument", "\"name\":\"stride\"", "\"name\":\"strides\"", kUnsupported,
                   {"argument 'strides'"}),
      program_case("UnknownTensor", "{\"as_tensor\":{\"name\":\"relu\"}},\"kind\"",
                   "{\"as_tensor\":{\"name\":\"nobody\"}},\"kind\"", kInvalid,
                   {"'nobody', which nothing before this node makes"}),
      entry_case("ScaleOfZero", number_after(scale, "0.0"), kInvalid, {"'quantize_per_tensor'", "the scale 0"}),
      entry_case("ScaleThatIsNoNumber", number_after(scale, "\"NaN\""), kInvalid,
                 {"'quantize_per_tensor'", "the scale nan"}),
      program_case("UnknownElementType", "\"as_scalar_type\":2", "\"as_scalar_type\":30", kUnsupported, {"FLOAT8E5M2"}),
      program_case("OtherShape", "\"relu\":{\"dtype\":7", "\"relu\":{\"dtype\":1", kInvalid,
                   {"result 'relu'", "f32", "BYTE"}),
      program_case("OutputOfNothing", "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"",
                   "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"no_", kInvalid,
                   {"output 'no_", "nothing that makes it"}),
      program_case("ChangesABuffer", "{\"user_output\":", "{\"buffer_mutation\":", kUnsupported,
                   {"buffer_mutation", "evaluation mode"}),
  };
}

std::vector<BrokenCase> tensor_cases() {
  const auto config = [](const std::string& old_text, const std::string& new_text) {
    return pt2_replaced(kConfig, old_text, new_text);
  };
  // In what the list says of a tensor that is used.
  const auto of_tensor = [](const std::string& name, const std::string& old_text, const std::string& new_text) {
    return [=](Entries& entries) {
      std::string& bytes = entries.at(kConfig);
      const std::size_t at = bytes.find(old_text, bytes.find("\"" + name + "\""));
      ASSERT_NE(at, std::string::npos) << name;
      bytes.replace(at, old_text.size(), new_text);
    };
  };
  return {
      entry_case("ScalesOfZeroLength", of_tensor("_scale_0", "{\"as_int\": 8}", "{\"as_int\": 0}"), kInvalid,
                 {"'_scale_0'", "FLOAT 8"}),
      entry_case("ScaleListTooLong", of_tensor("_scale_0", "{\"as_int\": 8}", "{\"as_int\": 9}"), kInvalid,
                 {"'_scale_0'", "32 bytes", "36"}),
      entry_case("NegativeSize", of_tensor("_frozen_param0", "{\"as_int\": 8}", "{\"as_int\": -8}"), kInvalid,
                 {"'_frozen_param0'", "[-8,3,3,3]"}),
      entry_case("HugeStride", of_tensor("_frozen_param0", "{\"as_int\": 27}", "{\"as_int\": 9223372036854775807}"),
                 kInvalid, {"'_frozen_param0'"}),
      entry_case("ElementTypeOfNobody", config("\"dtype\": 7", "\"dtype\": 77"), kUnsupported, {"type 77"}),
      entry_case("SymbolicSize", config("{\"as_int\": 27}", "{\"as_expr\": {\"expr_str\": \"s0\"}}"), kInvalid,
                 {"the size 's0'", "a number"}),
  };
}

std::vector<BrokenCase> pickle_cases() {
  const std::string begin = "\x80\x02";
  return {
      pickle_case("CallsTheSystem", begin + "cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", kUnsupported,
                  {"the global 'os.system'"}),
      pickle_case("TensorOfAClass", begin + "ctorch._tensor\n_rebuild_from_type_v2\n.", kUnsupported,
                  {"the global 'torch._tensor._rebuild_from_type_v2'", "run_decompositions({})"}),
      pickle_case("UnknownOpcode", begin + "i", kUnsupported, {"opcode 105"}),
      pickle_case("NewerProtocol", "\x80\x04.", kUnsupported, {"protocol 4"}),
      pickle_case("EndsEarly", begin + "}X\x7f\x7f\x7f\x7f", kInvalid, {"the end of the pickle"}),
      pickle_case("EmptyStack", begin + "\x85.", kInvalid, {"empty stack"}),
      pickle_case("DeepTuple", begin + ")" + std::string(200000, '\x85') + ".", kInvalid, {"no dict of tensors"}),
      pickle_case("NoTensor", begin + std::string("}X\x01\x00\x00\x00wNs.", 11), kUnsupported, {"'w'", "no tensor"}),
  };
}

class BrokenPt2 : public Broken {};
TEST_P(BrokenPt2, IsRefusedByName) { check(); }
INSTANTIATE_TEST_SUITE_P(Zip, BrokenPt2, ::testing::ValuesIn(zip_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Layout, BrokenPt2, ::testing::ValuesIn(layout_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Program, BrokenPt2, ::testing::ValuesIn(program_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Tensor, BrokenPt2, ::testing::ValuesIn(tensor_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Pickle, BrokenPt2, ::testing::ValuesIn(pickle_cases()), name_of_case);

}  // namespace
}  // namespace octavo::testing
