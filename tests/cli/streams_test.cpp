// Standard output and error that cannot be written, files that change under the program. Part of tests/cli/.
#include <csignal>
#include <filesystem>

#include "base/file.h"
#include "cli/fixture.h"
#include "data/npy.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using testing::Stream;

class CliStreams : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    expect("compile " + model_ + " --precision fp32 -o m.octv", 0, "written");
    ASSERT_TRUE(write_npy(path("x.npy"), Tensor(DType::f32, Shape{1, 1, 8, 8}).view()));
  }

  // Every verb with something to say, and the options that every program has.
  std::vector<std::string> commands() const {
    return {"--help",
            "--version",
            "compile --help",
            "compile " + model_ + " --precision fp32 -o out.octv",
            "quantize " + model_ + " --calibrate random -o out.onnx",
            "run m.octv --input x.npy",
            "bench m.octv --seconds 0.01 --threads 1",
            "evaluate m.octv --images " + digits_ + "test.npz --preprocess tf",
            "explain m.octv --seconds 0.01",
            "inspect " + model_,
            "inspect m.octv",
            "inspect --machine",
            "compare m.octv m.octv",
            "zoo --list"};
  }

  // A verb that says more than a buffer holds fails where it prints, another one where it ends.
  void expect_resource_error(const std::string& command, Stream output) const {
    const testing::Outcome outcome = testing::run_program_into(folder_, command, output, Stream::text);
    EXPECT_EQ(outcome.exit_code, 5) << command << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find("standard output"), std::string::npos) << command << "\n" << outcome.text;
  }

  const std::string model_ = digits_ + "digits.onnx";
};

TEST_F(CliStreams, FullDiskIsFive) {
  for (const std::string& command : commands()) expect_resource_error(command, Stream::full_disk);
}

TEST_F(CliStreams, ClosedOutputIsFive) {
  for (const std::string& command : commands()) expect_resource_error(command, Stream::closed);
}

// As `octavo ... | head` expects of a program: ended by SIGPIPE, without a word.
TEST_F(CliStreams, ClosedPipeEndsQuietly) {
  for (const std::string& command : commands()) {
    const testing::Outcome outcome = testing::run_program_into(folder_, command, Stream::closed_pipe, Stream::text);
    EXPECT_EQ(outcome.exit_code, 128 + SIGPIPE) << command << "\n" << outcome.text;
    EXPECT_EQ(outcome.text.find("octavo: standard"), std::string::npos) << command << "\n" << outcome.text;
  }
}

// What standard error cannot take is lost; the answer and the exit code are not.
TEST_F(CliStreams, StandardErrorMayBeLost) {
  for (const Stream error : {Stream::full_disk, Stream::closed, Stream::closed_pipe}) {
    for (const std::string& command : commands()) {
      const testing::Outcome outcome = testing::run_program_into(folder_, command, Stream::text, error);
      EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.text;
      EXPECT_FALSE(outcome.text.empty()) << command;
    }
    for (const auto& [command, code] :
         {std::pair("frobnicate", 2), {"compile", 2}, {"inspect x.npy", 3}, {"run m.octv --input missing.npy", 5}}) {
      const testing::Outcome outcome = testing::run_program_into(folder_, command, Stream::text, error);
      EXPECT_EQ(outcome.exit_code, code) << command << "\n" << outcome.text;
    }
  }
}

// No file that the program opens takes the place of a closed stream: what is printed would land in it.
TEST_F(CliStreams, ClosedStreamsAreNoFiles) {
  const testing::Outcome outcome = testing::run_command(
      folder_, "octavo compile " + model_ + " --calibrate random -o out.octv <&- >&- 2>&-; echo $?");
  EXPECT_EQ(outcome.text, "5\n");
  expect("inspect out.octv", 0, "int8");
}

TEST_F(CliStreams, FilesOnAFullDiskAreFive) {
  for (const char* command :
       {"compile $M --precision fp32 -o /dev/full", "compile $M --precision fp32 -o out.octv --report /dev/full",
        "compile $M --calibrate random -o out.octv --scales-out /dev/full",
        "quantize $M --calibrate random -o /dev/full", "bench m.octv --seconds 0.01 --threads 1 --json /dev/full",
        "explain m.octv --seconds 0.01 --json /dev/full", "explain m.octv --seconds 0.01 --html /dev/full",
        "explain m.octv --seconds 0.01 --onnx /dev/full", "inspect m.octv --json /dev/full",
        "compare m.octv m.octv --json /dev/full", "zoo squeezenet1_1 -o /dev/full"}) {
    const testing::Outcome outcome = testing::run_command(folder_, "M='" + model_ + "'; octavo " + command);
    EXPECT_EQ(outcome.exit_code, 5) << command << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find("/dev/full"), std::string::npos) << command << "\n" << outcome.text;
  }
}

// A disk that fills up while a file is written: the limit of a file's size, in blocks, stands for it.
TEST_F(CliStreams, HalfWrittenFilesGo) {
  const std::set<std::string> before = folder_.names();
  for (const char* command : {"compile $M --precision fp32 -o out.octv", "quantize $M --calibrate random -o out.onnx",
                              "zoo squeezenet1_1 -o out.onnx"}) {
    const testing::Outcome outcome =
        testing::run_command(folder_, "M='" + model_ + "'; ulimit -f 4; octavo " + command);
    EXPECT_EQ(outcome.exit_code, 5) << command << "\n" << outcome.text;
    EXPECT_EQ(folder_.names(), before) << command;
  }
}

// The file that a process has mapped is cut off under it: the worker of `bench`, which waits for orders between runs.
TEST_F(CliStreams, MappedFilesThatAreCutOffAreFive) {
  const testing::Outcome outcome = testing::run_command(folder_,
                                                        R"(mkfifo orders answers
octavo bench-worker m.octv --precision fp32 --batch 1 --threads 2 <orders >answers &
exec 3>orders 4<answers
read hello <&4
: > m.octv
echo 'runs 1' >&3
wait $!)");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.text;
  EXPECT_NE(outcome.text.find("cut off or overwritten"), std::string::npos) << outcome.text;
}

// A new file of that name is another file: who has the old one mapped keeps it.
TEST_F(CliStreams, MappedFilesMayBeReplaced) {
  const testing::Outcome outcome = testing::run_command(folder_,
                                                        R"(mkfifo orders answers
octavo bench-worker m.octv --precision fp32 --batch 1 --threads 2 <orders >answers &
exec 3>orders 4<answers
read hello <&4
octavo compile ')" + model_ + R"(' --calibrate random -o m.octv >/dev/null
echo 'runs 1' >&3
read reply <&4
echo end >&3
wait $!)");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
}

}  // namespace
}  // namespace octavo
