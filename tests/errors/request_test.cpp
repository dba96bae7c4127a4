// Sound models with broken inputs, wrong requests and places that cannot be written. Part of tests/errors/.
#include <cmath>
#include <filesystem>

#include "data/npy.h"
#include "errors/broken_case.h"

namespace octavo::testing {
namespace {

const std::string kDigits = OCTAVO_SOURCE_DIR "/examples/digits/";
const std::string kRequestRun = "run " + kDigits + "digits.onnx --precision fp32 --output-dir . ";

void write_tensor(const ScratchFolder& folder, const std::string& name, const Tensor& tensor) {
  const Status written = write_npy(folder.path(name), tensor.view());
  ASSERT_TRUE(written) << to_string(written.errors());
}

BrokenCase tensor_case(std::string name, Tensor tensor, std::vector<std::string> parts, int exit_code = kUsage) {
  const auto write = [tensor = std::move(tensor)](const ScratchFolder& folder) {
    write_tensor(folder, "x.npy", tensor);
  };
  return {std::move(name), write, kRequestRun + "--input x.npy", exit_code, std::move(parts)};
}

// An .npy file of f32[1,1,8,8] with these bytes changed.
BrokenCase npy_case(std::string name, std::function<std::string(std::string)> change, std::vector<std::string> parts) {
  const auto write = [change = std::move(change)](const ScratchFolder& folder) {
    write_tensor(folder, "x.npy", Tensor(DType::f32, Shape{1, 1, 8, 8}));
    folder.write("x.npy", change(read_bytes(folder.path("x.npy"))));
  };
  parts.push_back("x.npy");
  return {std::move(name), write, kRequestRun + "--input x.npy", kInvalid, std::move(parts)};
}

std::string request_replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

BrokenCase request_case(std::string name, std::string arguments, std::vector<std::string> parts,
                        int exit_code = kUsage) {
  const auto write = [](const ScratchFolder& folder) {
    write_tensor(folder, "x.npy", Tensor(DType::f32, Shape{1, 1, 8, 8}));
  };
  return {std::move(name), write, std::move(arguments), exit_code, std::move(parts)};
}

// "full" is a link to a device that never has room: it must be written, not replaced.
BrokenCase full_disk_case(std::string name, std::string arguments) {
  const auto write = [](const ScratchFolder& folder) {
    std::filesystem::create_symlink("/dev/full", folder.path("full"));
  };
  return {std::move(name), write, std::move(arguments), kResource, {"full", "No space left"}};
}

Tensor image_of(float value) {
  Tensor tensor(DType::f32, Shape{1, 1, 8, 8});
  tensor.span<float>()[9] = value;
  return tensor;
}

std::vector<BrokenCase> wrong_inputs() {
  return {
      tensor_case("WrongShape", Tensor(DType::f32, Shape{1, 1, 8, 9}), {"input", "dimension 3", "1x1x8x9", "x1x8x8"}),
      tensor_case("WrongRank", Tensor(DType::f32, Shape{64}), {"'image'", "64", "x1x8x8"}),
      tensor_case("WrongType", Tensor(DType::s32, Shape{1, 1, 8, 8}), {"input", "s32", "f32"}),
      npy_case("Empty", [](const std::string&) { return std::string(); }, {}),
      npy_case("NotAnArray", [](const std::string&) { return std::string("1 2 3 4\n"); }, {}),
      npy_case("CutInTheHeader", [](const std::string& bytes) { return bytes.substr(0, 20); }, {}),
      npy_case("CutInTheData", [](const std::string& bytes) { return bytes.substr(0, bytes.size() - 4); },
               {"252", "256"}),
      npy_case("BigEndian", [](const std::string& bytes) { return request_replaced(bytes, "<f4", ">f4"); }, {">f4"}),
      npy_case("ObjectArray", [](const std::string& bytes) { return request_replaced(bytes, "<f4", "|O8"); }, {"|O8"}),
      npy_case("NegativeDimension", [](const std::string& bytes) { return request_replaced(bytes, "8, 8", "8,-8"); },
               {}),
      npy_case("HugeDimension",
               [](const std::string& bytes) { return request_replaced(bytes, "(1, 1, 8, 8)", "(9e9, 9, 9, 9"); }, {}),
  };
}

std::vector<BrokenCase> wrong_requests() {
  return {
      request_case("NoInput", kRequestRun, {"--input", "f32[1x1x8x8]"}),
      request_case("UnknownInput", kRequestRun + "--input nobody=x.npy", {"nobody"}),
      request_case("InputTwice", kRequestRun + "--input x.npy --input x.npy", {"twice"}),
      request_case("MissingInputFile", kRequestRun + "--input none.npy", {"none.npy"}, kResource),
      request_case("UnknownShapeName", kRequestRun + "--input x.npy --shape nobody=1x1x8x8", {"nobody"}),
      request_case("ShapeOfZero", kRequestRun + "--input x.npy --shape input=0x1x8x8", {"--shape"}),
      request_case("ShapeThatOverflows", kRequestRun + "--input x.npy --shape input=1x1x99999999999999999999x8",
                   {"--shape"}),
      request_case("MissingModel", "compile none.onnx --precision fp32", {"none.onnx"}, kResource),
      request_case("ModelIsAFolder", "compile . -o m.octv --precision fp32", {"folder"}, kResource),
      request_case("MissingCalibration", "compile " + kDigits + "digits.onnx -o m.octv --calibrate none.npz",
                   {"none.npz"}, kResource),
      request_case("CalibrationThatIsNoArchive",
                   "compile " + kDigits + "digits.onnx -o m.octv --calibrate " + kDigits + "digits.onnx",
                   {"digits.onnx"}, kInvalid),
      request_case("AutoWithoutSamples", "compile " + kDigits + "digits.onnx -o m.octv --precision auto",
                   {"digits.onnx", "--calibrate PATH"}),
      request_case("AutoOfIntegersOnly",
                   "compile " + kDigits + "digits.onnx -o m.octv --calibrate random --precision auto --integer-only",
                   {"--precision auto", "--integer-only"}),
      request_case(
          "AutoWithALogThatIsNone",
          "compile " + kDigits + "digits.onnx -o m.octv --calibrate random --precision auto --tuning-log x.npy",
          {"x.npy"}, kInvalid),
      request_case("AutoWithinABudget",
                   "compile " + kDigits + "digits.onnx -o m.octv --calibrate random --precision auto --max-drop 1",
                   {"--max-drop"}),
      request_case("OutputInNoFolder", "compile " + kDigits + "digits.onnx --precision fp32 -o none/m.octv",
                   {"none/m.octv"}, kResource),
      request_case("OutputIsAFolder", "compile " + kDigits + "digits.onnx --precision fp32 -o .", {"."}, kResource),
      full_disk_case("OutputOnAFullDisk", "compile " + kDigits + "digits.onnx --precision fp32 -o full"),
      full_disk_case("ReportOnAFullDisk", "inspect " + kDigits + "digits.onnx --json full"),
      request_case("ResultsInAFile", "run " + kDigits + "digits.onnx --precision fp32 --input x.npy --output-dir x.npy",
                   {"x.npy"}, kResource),
      request_case("ReportInNoFolder", "inspect " + kDigits + "digits.onnx --json none/report.json",
                   {"none/report.json"}, kResource),
  };
}

class BrokenRequest : public Broken {};
TEST_P(BrokenRequest, IsRefusedByName) { check(); }
INSTANTIATE_TEST_SUITE_P(Inputs, BrokenRequest, ::testing::ValuesIn(wrong_inputs()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Requests, BrokenRequest, ::testing::ValuesIn(wrong_requests()), name_of_case);

// Values that are no numbers are legal input: a float model answers with what they lead to, and the program ends well.
TEST(BrokenRequests, InputsThatAreNoNumbersAreRun) {
  if (!has_program()) GTEST_SKIP() << "needs program: it was not built";
  const ScratchFolder folder;
  for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    write_tensor(folder, "x.npy", image_of(value));
    for (const char* precision : {"--precision fp32", "--calibrate random"}) {
      const Outcome outcome =
          run_program(folder, "run " + kDigits + "digits.onnx --input x.npy --output-dir out " + precision);
      EXPECT_EQ(outcome.exit_code, 0) << value << "\n" << outcome.text;
    }
  }
}

}  // namespace
}  // namespace octavo::testing
