// What the verbs share: error reports, progress. Part of cli/.
#ifndef OCTAVO_CLI_COMMON_H_
#define OCTAVO_CLI_COMMON_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "octavo/progress.h"

namespace octavo::cli {

// Exit codes beyond those of errors: docs/cli.md.
inline constexpr int kAnswerIsNo = 1;

// A verb: adds itself to the application; its callback stores the exit code.
using AddVerb = void (*)(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_bench_worker(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_compile(CLI::App& app, int& exit_code);
void add_evaluate(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_quantize(CLI::App& app, int& exit_code);
void add_reduce(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_zoo(CLI::App& app, int& exit_code);

// Says what went wrong on standard error; gives the exit code.
int report(const Errors& errors);
int report(Error error);

// A bar on a terminal, a line every few seconds elsewhere, on standard error. Cleared when it goes out of scope.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(double done);
  // The same with the rate and the time that is left; of a total of 0 only how many. `more` stands behind.
  void count(std::int64_t done, std::int64_t total, const std::string& more = {});

 private:
  void show(std::optional<double> done, const std::string& note);
  std::string what_;
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// The same of compile() and quantize(): a bar for each phase. Refers to itself while `function()` is in use.
class PhaseProgress {
 public:
  ProgressFunction function();

 private:
  std::optional<Progress> bar_;
  Phase phase_ = {};
};

// Writes a JSON file with a final newline; the exit code.
int write_json(const std::string& path, const nlohmann::json& object);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_COMMON_H_
