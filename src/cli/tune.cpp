// octavo tune. Part of cli/.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/auto_precision.h"
#include "analyze/tune_report.h"
#include "base/file.h"
#include "cli/common.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "planner/machine_file.h"

namespace octavo::cli {
namespace {

struct TuneArguments {
  std::string model, output, report, json;
  std::vector<SearchKind> tuners;
  std::string xgboost;
  TuneOptions options;
  double seconds = 2.0;
  CompileArguments compile;
};

constexpr Word<SearchKind> kTuners[] = {{name_of(SearchKind::grid), SearchKind::grid},
                                        {name_of(SearchKind::random), SearchKind::random},
                                        {name_of(SearchKind::ga), SearchKind::ga},
                                        {name_of(SearchKind::xgb), SearchKind::xgb}};
constexpr Word<TrialCache> kCaches[] = {{name_of(TrialCache::network), TrialCache::network},
                                        {name_of(TrialCache::warm), TrialCache::warm},
                                        {name_of(TrialCache::cold), TrialCache::cold}};

// The request with everything decided that plans with and without a log share.
Result<CompileRequest> settled(const TuneArguments& arguments, CompileRequest request, const Machine& machine) {
  if (request.chooses_precision) {
    auto chosen = settle_precision(arguments.model, request);
    if (!chosen) return chosen.errors();
    request = std::move(*chosen);
  }
  if (is_device(machine)) request.threads = 1;
  if (request.threads == 0) request.threads = host_machine().cores;
  if (request.calibrate.empty() || request.options.precision == Precision::fp32) return request;
  const auto quantized = quantize_file(arguments.model, request);
  if (!quantized) return quantized.errors();
  request.options.calibrated = quantized->calibrated();
  request.calibrate.clear();
  return request;
}

Result<std::vector<TuneHistory>> run_tuners(const TuneArguments& arguments, const TaskCollector& network,
                                            const std::vector<TuningTask>& tasks, MeasurementLog& log) {
  std::unique_ptr<Ranker> ranker;
  if (std::find(arguments.tuners.begin(), arguments.tuners.end(), SearchKind::xgb) != arguments.tuners.end()) {
    auto loaded = load_xgboost(arguments.xgboost);
    if (!loaded) return loaded.errors();
    ranker = std::move(*loaded);
  }
  TuneOptions options = arguments.options;
  options.measure.trial.network_bytes = network.constant_bytes();
  options.measure.trial.speeds = network.machine().speeds;
  options.measure.trial.device = arguments.compile.request.run.device;
  options.measure.is_on_device = is_device(network.machine());
  Measurer measurer(tasks, options.measure);
  const MeasureWay measure = [&](std::size_t task, std::size_t way) { return measurer.measure(task, way); };
  std::vector<TuneHistory> histories;
  for (const SearchKind kind : arguments.tuners) {
    if (Interrupts::came()) break;
    Progress progress(std::string("tuning, ") + std::string(name_of(kind)));
    options.search = kind;
    options.ranker = ranker.get();
    options.goes_on = [&](const TuneProgress& told) {
      progress.count(told.trials, told.of,
                     fmt::format(", {:.4g} us of {:.4g}", told.best_ns / 1e3, told.default_ns / 1e3));
      return !Interrupts::came();
    };
    auto history = tune(tasks, log, measure, options);
    if (!history) return history.errors();
    histories.push_back(std::move(*history));
  }
  return histories;
}

// The network as it was, as it is now, and in fp32, in turns.
Result<std::vector<BenchRun>> bench_network(const TuneArguments& arguments, const CompileRequest& request,
                                            const v1::CompiledModel& before, const v1::CompiledModel& tuned) {
  auto folder = TemporaryFolder::create();
  if (!folder) return folder.errors();
  const bool is_on_device = before.info().plans.front().is_for_device;
  std::vector<BenchVariant> variants;
  const auto add = [&](const v1::CompiledModel& model) {
    const std::string file = folder->next_file();
    const v1::PlanInfo plan = model.info().plans.front();
    variants.push_back(
        {arguments.model,
         file,
         {.plan = {plan.precision, plan.batch}, .settings = request.run, .keeps_tensors_there = is_on_device}});
    return model.save(file);
  };
  if (const Status saved = add(before); !saved) return saved.errors();
  if (const Status saved = add(tuned); !saved) return saved.errors();
  if (before.info().plans.front().precision != Precision::fp32) {
    CompileRequest fp32 = request;
    fp32.options.precision = Precision::fp32;
    fp32.options.tuning_log.clear();
    const auto compiled = open_or_compile(arguments.model, fp32);
    if (!compiled) return compiled.errors();
    if (const Status saved = add(*compiled); !saved) return saved.errors();
  }
  Progress progress("measuring");
  BenchOptions options{.seconds = arguments.seconds, .threads = request.threads};
  options.progress = [&](double done) { progress.show(done); };
  return bench(variants, options);
}

std::string described(const Machine& machine, int threads) {
  if (is_device(machine)) return fmt::format("{}, {} multiprocessors", machine.name, machine.cores);
  return fmt::format("{}, {}, {} threads", host_machine().name, host_machine().isa.to_string(), threads);
}

Result<TuneReport> tune_model(const TuneArguments& arguments, const CompileRequest& asked) {
  const auto start = std::chrono::steady_clock::now();
  const auto machine = compiled_for(asked.options.target, asked.options.machine_file);
  if (!machine) return machine.errors();
  if (!is_device(*machine) && !host_machine().isa.contains(machine->isa))
    return Error{.kind = ErrorKind::usage,
                 .where = asked.options.machine_file,
                 .found = "a machine that has " + machine->isa.to_string(),
                 .expected = "this machine, which has " + host_machine().isa.to_string()};
  auto request = settled(arguments, asked, *machine);
  if (!request) return request.errors();
  auto log = MeasurementLog::open(request->options.tuning_log, timed_machine(*machine));
  if (!log) return log.errors();
  TaskCollector collector(request->threads, *machine);
  CompileRequest without = *request;
  without.options.tuning_log.clear();
  const auto before = compile_observed(arguments.model, without, collector.observer());
  if (!before) return before.errors();
  if (before->info().plans.size() != 1) return no_size_given(before->info());
  const std::vector<TuningTask> tasks = collector.tasks();
  TuneReport report{.model = std::filesystem::path(arguments.model).filename().string(),
                    .machine = described(*machine, request->threads)};
  auto histories = run_tuners(arguments, collector, tasks, *log);
  if (!histories) return histories.errors();
  report.calls = tuned_calls(tasks, *histories);
  report.histories = std::move(*histories);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto tuned = open_or_compile(arguments.model, *request);
  if (!tuned) return tuned.errors();
  if (!arguments.output.empty()) {
    if (const Status saved = tuned->save(arguments.output); !saved) return saved.errors();
  }
  auto runs = bench_network(arguments, *request, *before, *tuned);
  if (!runs) return runs.errors();
  report.runs = std::move(*runs);
  return report;
}

int run_tune(const TuneArguments& arguments) {
  auto request = request_for(arguments.compile, {{arguments.model}});
  if (!request) return report(request.errors());
  request->plans_examples = true;
  const std::string& target = request->options.target;
  if (v1::is_compiled(arguments.model) || (target != "host" && target != "cuda"))
    return report({.kind = ErrorKind::usage,
                   .where = arguments.model,
                   .found = v1::is_compiled(arguments.model) ? "a compiled model" : "--target " + target,
                   .expected = "a model file, for this machine or its CUDA device"});
  warn_of_random(*request);
  const Interrupts interrupts;
  const auto tuned = tune_model(arguments, *request);
  if (!tuned) return report(tuned.errors());
  fmt::print("{}\n{}", tuned->machine, tune_text(*tuned));
  if (!arguments.report.empty()) {
    if (const Status written = write_text(arguments.report, tune_html(*tuned)); !written)
      return report(written.errors());
  }
  return arguments.json.empty() ? 0 : write_json(arguments.json, tune_json(*tuned));
}

void add_trial_options(CLI::App& verb, TuneArguments& arguments) {
  TuneOptions& options = arguments.options;
  TimeEvaluator& evaluator = options.measure.evaluator;
  const auto read_tuners = [&arguments](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) arguments.tuners.push_back(value_of("--tuner", text, kTuners));
  };
  verb.add_option_function<std::vector<std::string>>("--tuner", read_tuners,
                                                     "how the next trials are chosen; several: one after the other")
      ->delimiter(',')
      ->type_name("grid|random|ga|xgb")
      ->default_str("ga");
  verb.add_option("--xgboost", arguments.xgboost, "XGBoost's library (default: libxgboost.so as the system finds it)")
      ->type_name("F");
  const auto at_least_0 = CLI::Range(std::int64_t{0}, std::int64_t{1} << 40);
  verb.add_option("--trials", options.trials, "of all calls together")->check(positive_number())->capture_default_str();
  verb.add_option("--early-stopping", options.early_stopping,
                  "trials of a call without a better one after which it has enough; 0: no end")
      ->check(at_least_0)
      ->capture_default_str();
  verb.add_option("--number", evaluator.number, "runs that a time is the mean of")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--repeat", evaluator.repeat, "times of a trial")->check(positive_number())->capture_default_str();
  verb.add_option("--min-repeat-ms", evaluator.min_repeat_ms, "of all runs of a time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_word_option(verb, "--cache", options.measure.trial.cache, kCaches,
                  "what caches hold when a run begins: network: values but no weights; warm; or cold: nothing")
      ->default_str("network");
  verb.add_option("--timeout", options.measure.timeout_seconds, "seconds of a trial")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--seed", options.seed, "of the tuner's random numbers")->capture_default_str();
}

}  // namespace

void add_tune(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<TuneArguments>();
  CLI::App& verb = *app.add_subcommand("tune", "measure ways to compute every layer, and keep the best in a log");
  verb.add_option("MODEL", arguments->model, "model file")->required();
  verb.add_option("-o,--output", arguments->output, "the tuned model, compiled")->type_name("F.octv");
  verb.add_option("--report", arguments->report, "write a page with curves and all calls")->type_name("F.html");
  verb.add_option("--json", arguments->json, "write the figures as JSON")->type_name("F");
  verb.add_option("--bench-seconds", arguments->seconds, "for each variant of the whole network, in the end")
      ->check(positive_number())
      ->capture_default_str();
  add_trial_options(verb, *arguments);
  add_run_options(verb, arguments->compile);
  verb.get_option("--tuning-log")->required();
  verb.callback([arguments, &exit_code] {
    if (arguments->tuners.empty()) arguments->tuners = {SearchKind::ga};
    exit_code = run_tune(*arguments);
  });
}

}  // namespace octavo::cli
