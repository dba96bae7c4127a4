// Weights in other files: outside the model's folder, missing, too short. Part of tests/errors/.
#include <filesystem>

#include "errors/broken_case.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

// y = x + w, all f32[2]; w is bytes [offset, offset + length) of the file at `location`.
std::string model_with_data(const std::string& location, const std::string& offset, const std::string& length) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {2}).output("y").node({"Add", {"x", "w"}, {"y"}});
  builder.external_initializer("w", DType::f32, {2}, {location, offset, length});
  return builder.bytes();
}

// The model lies in model/, beside 16 bytes of data; secret.bin lies outside, link.bin points to it.
BrokenCase data_case(std::string name, std::string location, std::vector<std::string> parts, int exit_code = kInvalid,
                     std::string offset = "4", std::string length = "8") {
  const auto write = [=](const ScratchFolder& folder) {
    fs::create_directories(folder.path("model"));
    folder.write("secret.bin", std::string(16, 's'));
    folder.write("model/data.bin", std::string(16, '\0'));
    fs::create_symlink(folder.path("secret.bin"), folder.path("model/link.bin"));
    const std::string place = location == "ABSOLUTE" ? folder.path("secret.bin") : location;
    folder.write("model/m.onnx", model_with_data(place, offset, length));
  };
  for (const char* part : {"model/m.onnx", "initializer 'w'"}) parts.push_back(part);
  return {std::move(name), write, "compile model/m.onnx -o m.octv --precision fp32", exit_code, std::move(parts)};
}

std::vector<BrokenCase> cases() {
  const std::string outside = "inside the model's folder";
  return {
      data_case("AbsolutePath", "ABSOLUTE", {outside, "secret.bin"}),
      data_case("ParentFolder", "../secret.bin", {outside, "'../secret.bin'"}),
      data_case("ParentOfASubfolder", "a/../../secret.bin", {outside}),
      data_case("SymbolicLinkOutside", "link.bin", {outside, "'link.bin'"}),
      data_case("Folder", ".", {"no regular file"}),
      data_case("NoLocation", "", {}),
      data_case("MissingFile", "none.bin", {"none.bin"}, kResource),
      data_case("ShorterThanSaid", "data.bin", {"bytes 12 and 8 more of a file of 16"}, kInvalid, "12"),
      data_case("NegativeOffset", "data.bin", {"'-1'"}, kInvalid, "-1"),
      data_case("OffsetThatOverflows", "data.bin", {"range inside the file"}, kInvalid, "9223372036854775807"),
      data_case("OffsetThatIsNoNumber", "data.bin", {"'four'"}, kInvalid, "four"),
      data_case("LengthOfAnotherShape", "data.bin", {"16 bytes", "8"}, kInvalid, "0", "16"),
  };
}

class BrokenExternalData : public Broken {};
TEST_P(BrokenExternalData, IsRefusedByName) { check(); }
INSTANTIATE_TEST_SUITE_P(Files, BrokenExternalData, ::testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace octavo::testing
