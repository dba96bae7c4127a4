// conformance_runner: runs the node tests of the onnx package: imported and evaluated, then lowered, planned and run.
// Part of the tests.
//
//   conformance_runner NODE_TESTS_FOLDER [--passing LIST] [--out-of-scope LIST] [--write LIST] [--only SUBSTRING]
//                      [--verbose]
//
// Exit 1 where a test of the first list does not pass, one of the second passes, or fewer of those that are in scope
// pass than the lists say. One line per outcome that is no pass with --verbose; a summary always.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/compare.h"
#include "conformance/pipeline.h"
#include "conformance/proto_data.h"
#include "conformance/scope.h"
#include "import/import.h"
#include "ops/evaluate.h"

namespace octavo::conformance {
namespace {

struct Arguments {
  std::string folder, passing, out_of_scope, write, only;
  bool is_verbose = false;
};

enum class Outcome { passed, passed_with_bound_inputs, wrong, skipped_type, unsupported, failed };

struct Verdict {
  Outcome outcome = Outcome::failed;
  std::string detail;
};

// Which inputs become constants, from none to all: a compiler needs shapes, axes, scales and weights so.
std::vector<std::size_t> binding_starts(std::size_t inputs) {
  std::vector<std::size_t> starts{inputs};
  if (inputs > 1) starts.push_back(1);
  if (inputs > 0) starts.push_back(0);
  return starts;
}

Result<ImportedModel> import_bound(const NodeTest& test, const DataSet& data, std::size_t first_bound) {
  ImportOptions options;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    const auto& [name, tensor] = data.inputs[i];
    if (i >= first_bound) options.bound_inputs[name] = tensor;
    else options.shapes[name].assign(tensor.shape().begin(), tensor.shape().end());
  }
  return import_model(test.model_path, options);
}

std::string check_outputs(const std::vector<Tensor>& found, const DataSet& data, const char* how) {
  if (found.size() != data.outputs.size()) return std::string(how) + ": " + std::to_string(found.size()) + " outputs";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string wrong = difference(found[i], data.outputs[i].tensor);
    if (!wrong.empty()) return std::string(how) + ": output '" + data.outputs[i].name + "': " + wrong;
  }
  return "";
}

// Lowered, planned and run, in every way there is.
Verdict run_ways(const ImportedModel& model, const std::vector<Tensor>& inputs, const DataSet& data,
                 int& reference_steps) {
  for (const Way& way : all_ways(model.is_quantized)) {
    const auto outputs = model.program ? run_program(*model.program, way, inputs, reference_steps)
                                       : run_compiled(model.graph, way, inputs, reference_steps);
    if (!outputs) return {Outcome::failed, way.name + ": " + to_string(outputs.errors())};
    const std::string wrong = check_outputs(*outputs, data, way.name.c_str());
    if (!wrong.empty()) return {Outcome::wrong, wrong};
  }
  return {Outcome::passed, ""};
}

Verdict run_data(const NodeTest& test, const DataSet& data, int& reference_steps) {
  Verdict verdict;
  for (std::size_t start : binding_starts(data.inputs.size())) {
    auto model = import_bound(test, data, start);
    if (!model) {
      const bool is_unsupported = std::all_of(model.errors().begin(), model.errors().end(),
                                              [](const Error& e) { return e.kind == ErrorKind::unsupported; });
      verdict = {is_unsupported ? Outcome::unsupported : Outcome::failed, to_string(model.errors())};
      continue;
    }
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < start; ++i) inputs.push_back(data.inputs[i].tensor);
    if (!model->program) {
      const auto outputs = evaluate(model->graph, inputs);
      if (!outputs) return {Outcome::failed, to_string(outputs.errors())};
      const std::string wrong = check_outputs(*outputs, data, "evaluated");
      if (!wrong.empty()) return {Outcome::wrong, wrong};
    }
    const Verdict compiled = run_ways(*model, inputs, data, reference_steps);
    if (compiled.outcome != Outcome::passed) return compiled;
    return {start == data.inputs.size() ? Outcome::passed : Outcome::passed_with_bound_inputs, ""};
  }
  return verdict;
}

Verdict run_test(const std::string& folder, int& reference_steps) {
  const auto test = read_node_test(folder);
  if (!test) return {Outcome::failed, to_string(test.errors())};
  if (!test->skip_reason.empty()) return {Outcome::skipped_type, test->skip_reason};
  Verdict verdict{Outcome::failed, "no data"};
  for (const DataSet& data : test->data) {
    verdict = run_data(*test, data, reference_steps);
    if (verdict.outcome != Outcome::passed && verdict.outcome != Outcome::passed_with_bound_inputs) break;
  }
  return verdict;
}

bool is_pass(const Verdict& verdict) {
  return verdict.outcome == Outcome::passed || verdict.outcome == Outcome::passed_with_bound_inputs;
}

const char* name_of_outcome(Outcome outcome) {
  constexpr const char* names[] = {"passed", "passed with bound inputs", "wrong", "skipped for its type", "unsupported",
                                   "failed"};
  return names[static_cast<int>(outcome)];
}

void write_list(const std::string& path, const std::map<std::string, Verdict>& verdicts) {
  std::ofstream file(path);
  file << "# Node tests of onnx 1.22.0 that pass. Written by conformance_runner --write; a run that shrinks the list "
          "fails.\n";
  for (const auto& [name, verdict] : verdicts) {
    if (is_pass(verdict)) file << name << '\n';
  }
}

// The number of tests of the list that did not pass; each is printed.
int count_lost(const std::set<std::string>& passing, const std::map<std::string, Verdict>& verdicts,
               const std::string& only) {
  int lost = 0;
  for (const std::string& name : passing) {
    if (name.find(only) == std::string::npos) continue;
    const auto found = verdicts.find(name);
    if (found != verdicts.end() && is_pass(found->second)) continue;
    ++lost;
    std::printf("LOST %s: %s\n", name.c_str(), found == verdicts.end() ? "not there" : found->second.detail.c_str());
  }
  return lost;
}

void print_summary(const std::map<std::string, Verdict>& verdicts, bool is_verbose) {
  std::map<Outcome, int> counts;
  std::map<std::string, int> types;
  for (const auto& [name, verdict] : verdicts) {
    ++counts[verdict.outcome];
    if (verdict.outcome == Outcome::skipped_type) ++types[verdict.detail];
    if (is_verbose && !is_pass(verdict))
      std::printf("%s: %s: %s\n", name.c_str(), name_of_outcome(verdict.outcome), verdict.detail.c_str());
  }
  for (const auto& [outcome, count] : counts) std::printf("%5d %s\n", count, name_of_outcome(outcome));
  for (const auto& [type, count] : types) std::printf("      %5d %s\n", count, type.c_str());
}

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--verbose") arguments.is_verbose = true;
    else if (word == "--passing" && has_value) arguments.passing = argv[++i];
    else if (word == "--out-of-scope" && has_value) arguments.out_of_scope = argv[++i];
    else if (word == "--write" && has_value) arguments.write = argv[++i];
    else if (word == "--only" && has_value) arguments.only = argv[++i];
    else if (arguments.folder.empty() && word[0] != '-') arguments.folder = word;
    else return false;
  }
  return std::filesystem::is_directory(arguments.folder);
}

// Prints how many of the tests in scope pass; false where the lists contradict each other or the answers.
bool check_scope(const Arguments& arguments, const std::set<std::string>& to_pass,
                 const std::map<std::string, Verdict>& verdicts) {
  const std::map<std::string, std::string> out_of_scope = read_reasons(arguments.out_of_scope);
  std::set<std::string> tests, passing;
  for (const auto& [name, verdict] : verdicts) {
    tests.insert(name);
    if (is_pass(verdict)) passing.insert(name);
  }
  const Scope scope = scope_of(tests, passing, out_of_scope), expected = scope_of(tests, to_pass, out_of_scope);
  std::printf("%5zu in scope, %zu of them passed: %.2f %%\n", scope.tests, scope.passed, scope.share());
  std::vector<std::string> wrong = contradictions(out_of_scope, to_pass, passing);
  if (scope.passed < expected.passed)
    wrong.push_back("fewer than the " + std::to_string(expected.passed) + " of the list pass");
  for (const auto& [name, reason] : out_of_scope) {
    if (arguments.only.empty() && tests.count(name) == 0) wrong.push_back(name + " is out of scope and not there");
  }
  for (const std::string& sentence : wrong) std::printf("SCOPE %s\n", sentence.c_str());
  return wrong.empty();
}

int run(const Arguments& arguments) {
  std::map<std::string, Verdict> verdicts;
  int reference_steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.find(arguments.only) != std::string::npos)
      verdicts[name] = run_test(entry.path().string(), reference_steps);
  }
  print_summary(verdicts, arguments.is_verbose);
  std::printf("%5d steps of all plans ran by the reference\n", reference_steps);
  if (!arguments.write.empty()) write_list(arguments.write, verdicts);
  const std::set<std::string> to_pass = read_names(arguments.passing);
  const int lost = count_lost(to_pass, verdicts, arguments.only);
  if (lost > 0) std::printf("%d tests of the list do not pass\n", lost);
  const bool is_in_scope = arguments.out_of_scope.empty() || check_scope(arguments, to_pass, verdicts);
  return lost > 0 || !is_in_scope ? 1 : 0;
}

}  // namespace
}  // namespace octavo::conformance

int main(int argc, char** argv) {
  octavo::conformance::Arguments arguments;
  if (!octavo::conformance::parse(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: conformance_runner NODE_TESTS_FOLDER [--passing LIST] [--out-of-scope LIST] [--write LIST] "
                 "[--only SUBSTRING] [--verbose]\n");
    return 2;
  }
  return octavo::conformance::run(arguments);
}
