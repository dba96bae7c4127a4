// Every command line that README, docs/ and `make demo` propose runs, with small models in the place of the reader's.
// Part of tests/cli/.
#include <filesystem>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "cli/fixture.h"
#include "data/npy.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

// A line, and where it stands.
struct Proposal {
  std::string where;
  std::string text;
};

// What is not run here, and why.
struct Exception {
  const char* start;
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"make demo", "installs and builds; what it shows is run line by line"},
    {"make test", "is what runs this"},
    {"make fuzz", "takes minutes and another compiler"},
    {"make arm64", "takes minutes and another compiler"},
    {"make bench", "takes minutes"},
    {"make peers", "downloads other runtimes"},
    {"scripts/fuzz.sh", "takes minutes and another compiler"},
    {"octavo compare MODEL --against", "needs another engine; cli/against_test.cpp runs it"},
    {"octavo diagnose MODEL [--against", "needs a profile of another engine; diagnose/diagnose_test.cpp reads one"},
    {"octavo diagnose MODEL --write-fixed", "needs a file with something to repair; cli/repair_test.cpp runs it"},
    {"octavo reduce MODEL", "needs a model that fails; cli/reduce_test.cpp runs it"},
    {"python scripts/compare/speed.py", "needs ONNX Runtime"},
    {"python scripts/compare/open_sizes.py", "needs ONNX Runtime and OpenVINO"},
    {"python scripts/compare/sentences.py", "needs ONNX Runtime and OpenVINO"},
};

bool is_excepted(const Proposal& proposal) {
  return std::any_of(std::begin(kExceptions), std::end(kExceptions),
                     [&](const Exception& exception) { return proposal.text.starts_with(exception.start); });
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// The commands of a line: comments and what is told of them, behind many spaces, are left out.
std::vector<std::string> commands_in(const std::string& line) {
  static const std::regex kTold(R"(( {5,}| # |, and ).*)"), kNext(R"( {4,}(?=octavo ))");
  std::vector<std::string> commands;
  const std::string text = trimmed(line);
  for (std::sregex_token_iterator it(text.begin(), text.end(), kNext, -1), end; it != end; ++it)
    commands.push_back(trimmed(std::regex_replace(it->str(), kTold, "")));
  return commands;
}

// Indented and fenced lines that begin with a program of ours or of the Makefile.
void collect(const std::string& file, const std::string& text, std::vector<Proposal>& proposals) {
  static const std::regex kProgram(R"(^(build/bin/octavo|octavo|make|scripts/\S+|python3? scripts/\S+) .*)");
  bool is_fenced = false;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.starts_with("```")) is_fenced = !is_fenced;
    if (!is_fenced && !line.starts_with("  ")) continue;
    for (const std::string& command : commands_in(line)) {
      if (std::regex_match(command, kProgram)) proposals.push_back({file + ":" + std::to_string(number), command});
    }
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The demo: what it runs (`show ...`), and what it proposes.
void collect_demo(std::vector<Proposal>& proposals) {
  const std::string demo = testing::source_file("scripts/demo.sh");
  collect("scripts/demo.sh", replaced(demo, "show ", "octavo "), proposals);
  int number = 0;
  for (const std::string& line : lines_of(demo)) {
    ++number;
    if (line.starts_with("show "))
      proposals.push_back({"scripts/demo.sh:" + std::to_string(number), "octavo" + line.substr(4)});
  }
}

std::vector<Proposal> all_proposals() {
  std::vector<Proposal> proposals;
  collect("README.md", testing::source_file("README.md"), proposals);
  for (const auto& entry : fs::directory_iterator(OCTAVO_SOURCE_DIR "/docs")) {
    const std::string name = "docs/" + entry.path().filename().string();
    if (name.ends_with(".md")) collect(name, testing::source_file(name), proposals);
  }
  collect_demo(proposals);
  return proposals;
}

class Documented : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    Tensor weights(DType::f32, Shape{10, 3, 3, 3});
    for (std::size_t i = 0; i < 270; ++i) weights.span<float>()[i] = static_cast<float>(i * 7919 % 101) * 0.01f - 0.5f;
    testing::ModelBuilder model;
    model.input("image", DType::f32, {-1, 3, 32, 32}).initializer("w", weights);
    model.node({"Conv", {"image", "w"}, {"conv"}, {}, "", "conv"});
    model.node({"GlobalAveragePool", {"conv"}, {"pooled"}, {}, "", "pool"});
    model.node({"Flatten", {"pooled"}, {"scores"}, {}, "", "flatten"}).output("scores");
    ASSERT_TRUE(write_text(path("model.onnx"), model.bytes()));
    fs::create_directory(path("images"));
    for (const char* image : {"photo.bmp", "photo.jpg", "photo.png"})
      fs::copy(std::string(OCTAVO_SOURCE_DIR "/tests/data/images/") + image, path("images"));
    folder_.write("labels.txt", "photo.bmp 3\nphoto.jpg 3\nphoto.png 3\n");
    ASSERT_TRUE(write_npy(path("x.npy"), Tensor(DType::f32, Shape{1, 3, 32, 32}).view()));
    Tensor samples(DType::f32, Shape{4, 3, 32, 32});
    for (std::size_t i = 0; i < samples.span<float>().size(); ++i)
      samples.span<float>()[i] = static_cast<float>(i * 31 % 257) * 0.01f - 1.0f;
    ASSERT_TRUE(write_npy(path("samples.npy"), samples.view()));
    expect("quantize model.onnx --calibrate samples.npy -o model.qdq.onnx", 0, "written");
    expect("compile model.qdq.onnx -o model.octv", 0, "written");
  }

  // A word of a synopsis as it could be; `before` is the word before it.
  std::string filled_in(const std::string& word, const std::string& before, const std::string& model) const {
    const std::map<std::string, std::string> words = {{"MODEL", model},
                                                      {"A", "model.octv"},
                                                      {"B", "model.octv"},
                                                      {"PATH", "samples.npy"},
                                                      {"DIR", "images"},
                                                      {"SPEC", "torch"},
                                                      {"P", "int8"},
                                                      {"NAME", "squeezenet1_1"},
                                                      {"NAME=x.npy", "image=x.npy"},
                                                      {"NAME=photo.jpg", "image=images/photo.jpg"},
                                                      {"NAME|all", "all"},
                                                      {"F.octv", "out.octv"},
                                                      {"F.onnx", "out.onnx"},
                                                      {"BYTES", "1G"},
                                                      {"N", "1"},
                                                      {"S", "0.05"},
                                                      {"M", "agreement"},
                                                      {"X", "100"},
                                                      {"DB", "5"},
                                                      {"...", ""}};
    if (word == "F" || word == "F.html") return before == "--labels" ? "labels.txt" : "out" + before;
    const auto found = words.find(word);
    return found == words.end() ? word : found->second;
  }

  // What a proposed command comes to here: every alternative, every option, little time for measuring.
  std::vector<std::string> arguments_of(std::string command, const std::string& model) const {
    const bool has_samples = command.find("--calibrate") != std::string::npos;
    command = replaced(command, "[options]", has_samples ? "" : "--calibrate samples.npy");
    for (const char* mark : {"[", "]", "\""}) command = replaced(command, mark, "");
    command = replaced(command, "$examples/", digits_);
    command = replaced(replaced(command, "$work/", ""), "$name", "squeezenet1_1");
    std::istringstream stream(command.substr(command.find(' ')));
    std::vector<std::string> results = {""};
    std::string before;
    for (std::string word; stream >> word; before = word) {
      std::vector<std::string> alternatives = {filled_in(word, before, model)};
      if (word == "VERB")
        alternatives = {"compile", "quantize", "run",    "bench", "evaluate",
                        "explain", "inspect",  "reduce", "tune",  "zoo"};
      if (word == "quantize|compile") alternatives = {"quantize", "compile"};
      if (before == "--seconds") alternatives = {"0.05"};
      if (before == "--trials") alternatives = {"20"};
      std::vector<std::string> longer;
      for (const std::string& result : results) {
        for (const std::string& alternative : alternatives) longer.push_back(result + " " + alternative);
      }
      results = std::move(longer);
    }
    for (std::string& result : results) {
      const bool is_timed = result.starts_with(" bench ") || result.starts_with(" explain ");
      if (is_timed && result.find("--seconds") == std::string::npos && result.find("--help") == std::string::npos)
        result += " --seconds 0.05";
      const bool is_tuning = result.starts_with(" tune ") && result.find("--help") == std::string::npos;
      if (is_tuning && result.find("--trials") == std::string::npos) result += " --trials 20";
      if (is_tuning) result += " --bench-seconds 0.05";
    }
    return results;
  }

  // A synopsis holds for one kind of model file or another.
  void expect_runs(const Proposal& proposal) const {
    std::string told;
    for (const char* model : {"model.onnx", "model.qdq.onnx", "model.octv"}) {
      bool is_done = true;
      for (const std::string& arguments : arguments_of(proposal.text, model)) {
        const testing::Outcome outcome = octavo(arguments);
        is_done = is_done && outcome.exit_code == 0;
        told += "octavo" + arguments + "\n" + outcome.text + "\n";
      }
      if (is_done) return;
    }
    ADD_FAILURE() << proposal.where << ": " << proposal.text << "\n" << told;
  }
};

TEST_F(Documented, CommandsRun) {
  const std::vector<Proposal> proposals = all_proposals();
  std::size_t run = 0;
  for (const Proposal& proposal : proposals) {
    const bool is_ours = proposal.text.starts_with("octavo ") || proposal.text.starts_with("build/bin/octavo ");
    if (!is_ours || is_excepted(proposal)) continue;
    expect_runs(proposal);
    ++run;
  }
  EXPECT_GE(run, 25u) << "lines were found";
}

TEST_F(Documented, OtherCommandsExist) {
  const std::string makefile = testing::source_file("Makefile");
  for (const Proposal& proposal : all_proposals()) {
    std::istringstream words(proposal.text);
    std::string program, next;
    words >> program >> next;
    if (program.ends_with("octavo")) continue;
    EXPECT_TRUE(is_excepted(proposal)) << proposal.where << ": " << proposal.text << " is neither run nor an exception";
    if (program == "make") EXPECT_NE(makefile.find("\n" + next + ":"), std::string::npos) << proposal.where;
    else
      EXPECT_TRUE(fs::exists(OCTAVO_SOURCE_DIR "/" + (program.starts_with("python") ? next : program)))
          << proposal.where;
  }
}

}  // namespace
}  // namespace octavo
