// What the verbs share: options that compile, error reports, progress. Part of cli/.
#ifndef OCTAVO_CLI_COMMON_H_
#define OCTAVO_CLI_COMMON_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analyze/model_file.h"

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
void add_run(CLI::App& app, int& exit_code);
void add_zoo(CLI::App& app, int& exit_code);

// Says what went wrong on standard error; gives the exit code.
int report(const Errors& errors);
int report(Error error);

// The options of `compile`, as text; `run`, `bench` and `evaluate` take them, too.
struct CompileArguments {
  std::string precision;
  std::string calibrate;
  std::string calibration = "auto";
  std::string corrections = "bias";
  std::string weights = "adaround";
  std::string placement = "fused";
  std::vector<std::string> skip;
  std::optional<float> global_scale;
  std::string scales;
  std::string target = "host";
  std::string rounding;
  std::vector<std::int64_t> batches;
  std::string batch_order = "auto";
  std::vector<std::string> shapes;
  std::string preprocess;
  std::int64_t samples = 0;
  bool judges_samples = false;  // --calibrate is also what answers are judged on: then it may stand beside --scales
  bool integer_only = false;
  bool allow_reference = false;
  std::string tune = "off";
  std::string tuning_log;
};
void add_compile_options(CLI::App& verb, CompileArguments& arguments);
// The part of them that is about quantizing, for `quantize`.
void add_quantize_options(CLI::App& verb, CompileArguments& arguments);
void add_integer_only_option(CLI::App& verb, CompileArguments& arguments);
// --scales-out, for the verbs that quantize and write.
void add_scales_out_option(CLI::App& verb, std::string& path);
// --preprocess belongs to calibration and to evaluation.
void add_preprocess_option(CLI::App& verb, CompileArguments& arguments);

// `threads`: those that the verb runs with.
Result<CompileRequest> parse_compile_arguments(const CompileArguments& arguments, int threads);
// int8, fp32 or auto; none: what the model decides.
Status parse_precision(const std::string& word, CompileRequest& request);

// Says on standard error that speed-only calibration data makes wrong answers.
void warn_of_random(const CompileArguments& arguments);

// A bar on a terminal, a line every few seconds elsewhere, on standard error. Cleared when it goes out of scope.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(double done);
  // The same with the rate and the time that is left.
  void count(std::int64_t done, std::int64_t total);

 private:
  void show(double done, const std::string& note);
  std::string what_;
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// Writes a JSON file with a final newline; the exit code.
int write_json(const std::string& path, const nlohmann::json& object);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_COMMON_H_
