// octavo reduce. Part of cli/.
#include "analyze/reduce.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "analyze/command.h"
#include "analyze/onnx_file.h"
#include "analyze/peer.h"
#include "base/file.h"
#include "cli/common.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "import/import.h"

namespace octavo::cli {
namespace {

constexpr char kProgram[] = "/proc/self/exe";
constexpr std::size_t kMostNodesTold = 20;

struct ReduceArguments {
  std::string model, output;
  std::string keep;     // a command of the shell
  std::string against;  // an engine
  std::string python = "python3";
  std::optional<double> min_sqnr;
  double timeout_seconds = 600.0;
  std::int64_t trials = 1000;
};

// How a trial ended: what has to stay the same.
struct Ending {
  int exit_code = 0;
  bool is_late = false;
  std::string message;  // the first error without where it is; empty after commands of the shell
  bool operator==(const Ending&) const = default;
};

std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// A command of the shell with the path for each {}, or this program's comparison of the file with an engine or, to see
// whether it compiles and runs, with itself.
std::vector<std::string> command_for(const ReduceArguments& arguments, const std::string& path) {
  if (!arguments.keep.empty()) {
    std::string command = arguments.keep;
    for (std::size_t at = 0; (at = command.find("{}", at)) != std::string::npos;) {
      command.replace(at, 2, quoted(path));
      at += quoted(path).size();
    }
    return {"/bin/sh", "-c", command};
  }
  if (arguments.against.empty()) return {kProgram, "compare", path, path};
  std::vector<std::string> words = {kProgram,         "compare",         path,
                                    "--against",      arguments.against, "--python",
                                    arguments.python, "--timeout",       fmt::format("{}", arguments.timeout_seconds)};
  if (arguments.min_sqnr) words.insert(words.end(), {"--min-sqnr", fmt::format("{}", *arguments.min_sqnr)});
  return words;
}

// Of "octavo: WHERE: found ..." what comes behind WHERE, which names files and nodes.
std::string first_error(const std::string& words) {
  const std::size_t begin = words.find(": found ");
  return begin == std::string::npos ? "" : words.substr(begin, words.find('\n', begin) - begin);
}

Result<Ending> ending_of(const ReduceArguments& arguments, const std::string& path) {
  const auto end = run_command(command_for(arguments, path),
                               {.seconds = arguments.timeout_seconds, .goes_on = [] { return !Interrupts::came(); }});
  if (!end) return end.errors();
  return Ending{end->exit_code, end->is_late, arguments.keep.empty() ? first_error(end->last_words) : ""};
}

std::string described(const Ending& ending) {
  if (ending.is_late) return "takes more than --timeout";
  return fmt::format("ends with exit code {}{}", ending.exit_code, ending.message);
}

// What the whole model does, where there is something to find.
Result<Ending> expected_ending(const ReduceArguments& arguments) {
  auto ending = ending_of(arguments, arguments.model);
  if (!ending) return ending.errors();
  if (Interrupts::came())
    return Error{ErrorKind::cancelled, arguments.model, "an interruption before the first trial", "", ""};
  const auto nothing = [&](std::string found) {
    return Error{ErrorKind::usage, arguments.model, std::move(found), "a model that fails", ""};
  };
  const int code = ending->exit_code;
  if (!arguments.keep.empty()) return ending;
  const bool is_alone = arguments.against.empty();
  if (ending->is_late || (is_alone ? code > 2 : code == kAnswerIsNo)) return ending;
  if (is_alone && code < 2) return nothing("a model that compiles and runs");
  if (code == 0) return nothing("a model whose tensors agree with " + arguments.against);
  return nothing(fmt::format("a comparison that {}", described(*ending)));
}

std::string default_output(const std::string& model) {
  return std::filesystem::path(model).replace_extension(".small.onnx").filename().string();
}

void print_reduce(const Reduction& result, const Ending& ending, const std::string& output) {
  fmt::print("{}  {} of {} nodes after {} trials{}; it {}, like the whole\n", output, result.nodes_after,
             result.nodes_before, result.trials, result.is_smallest ? "" : ", and maybe not the fewest",
             described(ending));
  std::size_t told = 0;
  for (const auto& node : result.model.graph().node()) {
    if (++told > kMostNodesTold) break;
    fmt::print("  {}  {}\n", node.op_type(), name_of_onnx_node(node));
  }
}

Result<Reduction> reduce(const ReduceArguments& arguments, const Ending& ending, const std::string& path) {
  auto model = read_onnx_whole(arguments.model);
  if (!model) return model.errors();
  const OnnxSlicer slicer(std::move(*model));
  const Holds holds = [&](const onnx::ModelProto& part) -> Result<bool> {
    if (const Status written = write_onnx(path, part); !written) return written.errors();
    const auto found = ending_of(arguments, path);
    return found ? Result<bool>(*found == ending && !Interrupts::came()) : found.errors();
  };
  Progress progress("reducing");
  return reduce_model(slicer, holds,
                      {.trials = arguments.trials,
                       .goes_on = [] { return !Interrupts::came(); },
                       .on_trial =
                           [&](std::int64_t trials, std::int64_t nodes) {
                             progress.count(trials, 0, fmt::format(" trials, {} nodes left", nodes));
                           }});
}

int reduce_file(const ReduceArguments& arguments) {
  const auto format = format_of_file(arguments.model);
  if (!format) return report(format.errors());
  if (*format != FileFormat::onnx) {
    return report({.kind = ErrorKind::usage,
                   .where = arguments.model,
                   .found = "a file of another format",
                   .expected = "an ONNX file"});
  }
  if (!arguments.keep.empty() && arguments.keep.find("{}") == std::string::npos) {
    return report(
        {.kind = ErrorKind::usage, .where = "--keep", .found = "no {}", .expected = "one, where the file's name goes"});
  }
  const Interrupts interrupts;
  const auto ending = expected_ending(arguments);
  if (!ending) return report(ending.errors());
  auto folder = TemporaryFolder::create();
  if (!folder) return report(folder.errors());
  const auto result = reduce(arguments, *ending, folder->next_file());
  if (!result) return report(result.errors());
  const std::string output = arguments.output.empty() ? default_output(arguments.model) : arguments.output;
  if (const Status written = write_onnx(output, result->model); !written) return report(written.errors());
  print_reduce(*result, *ending, output);
  return 0;
}

}  // namespace

void add_reduce(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ReduceArguments>();
  CLI::App& verb = *app.add_subcommand("reduce", "cut an ONNX model to the fewest nodes that still fail alike");
  verb.add_option("MODEL", arguments->model, "an ONNX file")->required();
  verb.add_option("-o,--output", arguments->output, "the smaller file (default: MODEL's name with .small.onnx)")
      ->type_name("F.onnx");
  auto* keep = verb.add_option("--keep", arguments->keep,
                               "a part is kept where this command of the shell, with a file for {}, ends with the same "
                               "exit code as for MODEL (default: compiling and running fails with the same error)")
                   ->type_name("COMMAND");
  auto* against = verb.add_option("--against", arguments->against,
                                  "a part is kept where `compare --against` finds a difference from this engine")
                      ->type_name("ENGINE")
                      ->check(CLI::IsMember({std::string(name_of(Peer::onnxruntime))}))
                      ->excludes(keep);
  verb.add_option("--python", arguments->python, "as for `compare`")->type_name("PATH")->needs(against);
  verb.add_option("--min-sqnr", arguments->min_sqnr, "as for `compare`")->type_name("DB")->needs(against);
  verb.add_option("--timeout", arguments->timeout_seconds, "seconds that a trial may take; one that takes longer hangs")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--trials", arguments->trials, "how many there may be")
      ->type_name("N")
      ->check(positive_number())
      ->capture_default_str();
  verb.callback([arguments, &exit_code] { exit_code = reduce_file(*arguments); });
}

}  // namespace octavo::cli
