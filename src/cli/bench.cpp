// octavo bench. Part of cli/.
#include "analyze/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "analyze/table.h"
#include "base/file.h"
#include "base/machine.h"
#include "cli/bench_contexts.h"
#include "cli/common.h"
#include "cli/describe.h"
#include "cli/inputs.h"
#include "cli/options.h"

namespace octavo::cli {
namespace {

struct BenchArguments {
  std::vector<std::string> models;
  std::vector<PrecisionWord> compare;
  BenchOptions options;
  std::vector<std::string> inputs;
  ContextsArguments contexts;
  bool keeps_tensors_there = false;
  std::string json;
  CompileArguments compile;
};

constexpr Word<bool> kTensorPlaces[] = {{"host", false}, {"device", true}};

constexpr Word<Precision> kPlanPrecisions[] = {{name_of(Precision::int8), Precision::int8},
                                               {name_of(Precision::fp32), Precision::fp32}};

// The request for each precision to run: those of --compare, else the one of --precision, else the default of each
// model.
std::vector<CompileRequest> wanted_requests(const BenchArguments& arguments, const CompileRequest& request) {
  if (arguments.compare.empty()) return {request};
  std::vector<CompileRequest> requests(arguments.compare.size(), request);
  for (std::size_t i = 0; i < requests.size(); ++i) choose_precision(arguments.compare[i], requests[i]);
  return requests;
}

// Why layers that could be in int8 are not, where that was asked for; which sizes are timed, where nobody said it.
void print_choice(const v1::ModelInfo& info) {
  if (info.plans.empty()) return;
  for (const std::string& note : info.plans[0].notes) {
    if (note.starts_with("auto: ") || note.starts_with("sizes: ")) fmt::print("  {}\n", note);
  }
}

// Every size that is asked for of a compiled model; else the plans of the file that are.
std::vector<RunChoice> choices_of(const std::string& model, const v1::ModelInfo& info, const CompileRequest& own) {
  std::vector<RunChoice> choices;
  if (v1::is_compiled(model)) {
    for (const v1::InputShapes& shapes : own.shapes)
      choices.push_back({.plan = own.plan, .shapes = shapes, .settings = own.run});
  }
  if (!choices.empty()) return choices;
  if (!info.parts.empty()) {
    v1::InputShapes shapes;
    for (const auto& [name, extents] : own.options.shapes) {
      for (const Extent& extent : extents) shapes[name].push_back(extent.lowest);
    }
    return {{.plan = {}, .shapes = std::move(shapes), .settings = own.run}};
  }
  for (const v1::PlanInfo& plan : info.plans) {
    const std::vector<std::int64_t>& batches = own.options.batches;
    const bool is_wanted = !own.plan.batch || std::find(batches.begin(), batches.end(), plan.batch) != batches.end();
    if (!is_wanted || (own.plan.precision && plan.precision != *own.plan.precision)) continue;
    RunChoice& choice = choices.emplace_back(RunChoice{.plan = {plan.precision, plan.batch}, .settings = own.run});
    if (opens_more_than_batch(info)) choice.shapes = shapes_of(plan.inputs);
  }
  return choices;
}

// There is nothing to run of a model.
Error no_choice(const std::string& model, const v1::ModelInfo& info) {
  std::string has;
  for (const v1::PlanInfo& plan : info.plans)
    has += fmt::format("{}{} batch {}", has.empty() ? "" : ", ", name_of(plan.precision), plan.batch);
  Error error{.kind = ErrorKind::usage, .found = "no plan of this precision and batch", .expected = has};
  if (info.plans.empty()) error = no_size_given(info);
  error.where = model;
  return error;
}

void print_model(const std::string& name, const v1::ModelInfo& info) {
  fmt::print("{}  {}, {} nodes", name, info.dialect, info.source_nodes);
  if (!info.plans.empty())
    fmt::print(" -> {} kernels, {} float islands", info.plans[0].steps, info.plans[0].islands.size());
  fmt::print("\n");
  print_choice(info);
}

// Compiles where needed and saves beside the other variants; an .octv is used where it lies.
Status prepare(const std::string& model, CompileRequest own, const std::vector<std::string>& inputs,
               TemporaryFolder& folder, std::span<const std::optional<Contexts>> contexts,
               std::vector<BenchVariant>& variants) {
  Result<v1::CompiledModel> compiled = [&] {
    PhaseProgress progress;
    own.options.progress = progress.function();
    return open_or_compile(model, own);
  }();
  if (!compiled) return compiled.errors();
  std::string file = model;
  if (!v1::is_compiled(model)) {
    file = folder.next_file();
    if (const Status saved = compiled->save(file); !saved) return saved.errors();
  }
  const v1::ModelInfo info = compiled->info();
  const std::string name = std::filesystem::path(model).filename().string();
  const std::vector<RunChoice> choices = choices_of(model, info, own);
  if (choices.empty()) return no_choice(model, info);
  const std::string_view word = own.chooses_precision ? "auto" : own.options.allow_tf32 ? "tf32" : "";
  for (const RunChoice& choice : choices) {
    for (const std::optional<Contexts>& each : contexts)
      variants.push_back({name, file, choice, word, opens_more_than_batch(info), each, inputs});
  }
  print_model(name, info);
  return ok_status();
}

void print_machine(const std::vector<BenchRun>& runs) {
  const Machine& machine = host_machine();
  const std::int64_t least = std::min_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
                               return a.runs() < b.runs();
                             })->runs();
  const bool has_contexts = runs[0].variant.contexts.has_value();
  const int count = has_contexts ? machine.cores : runs[0].threads;
  fmt::print("{}, {}, {} {}{}, {} variant{} in turns, at least {} runs each\n", machine.name, machine.isa.to_string(),
             count, has_contexts ? "core" : "thread", count == 1 ? "" : "s", runs.size(), runs.size() == 1 ? "" : "s",
             least);
}

void print_table(const std::vector<BenchRun>& runs) {
  Table table(
      {"", "shape", "#batch", "#min", "#median", "#p90", "#p99", "#samples/s", "#load", "#first", "#memory", "#peak"});
  for (const BenchRun& run : runs) {
    table.add_row({fmt::format("{} {}", run.variant.model, run.precision_name()), shape_text(run),
                   std::to_string(run.batch), ms_text(run.latency_ms(0.0)), ms_text(run.latency_ms(0.5)),
                   ms_text(run.latency_ms(0.9)), ms_text(run.latency_ms(0.99)), fmt::format("{:.1f}", run.throughput()),
                   fmt::format("{:.1f} ms", run.load_ms), fmt::format("{:.1f} ms", run.first_run_ms),
                   fmt::format("{:.0f} MB", run.peak_rss_mb),
                   run.share_of_peak ? fmt::format("{:.0f} %", *run.share_of_peak * 100.0) : "-"});
  }
  fmt::print("{}", table.text());
}

// The first of these precisions is what the second is compared with.
bool are_compared(std::string_view base, std::string_view other) {
  return base != other && (base == "fp32" || (base == "tf32" && other != "fp32"));
}

// "int8 is 4.6 times faster than fp32", for every model and size that has both; the same of auto and tf32.
void print_verdicts(const std::vector<BenchRun>& runs) {
  for (const BenchRun& base : runs) {
    for (const BenchRun& other : runs) {
      const bool is_pair = are_compared(base.precision_name(), other.precision_name()) &&
                           base.variant.model == other.variant.model && base.shapes == other.shapes;
      if (!is_pair) continue;
      const double times = base.latency_ms(0.5) / other.latency_ms(0.5);
      const std::string what = runs.size() > 2 ? fmt::format("{} {}: ", other.variant.model, size_text(other)) : "";
      fmt::print("{}{} is {:.2f} times {} than {}\n", what, other.precision_name(), std::max(times, 1.0 / times),
                 times >= 1.0 ? "faster" : "slower", base.precision_name());
    }
  }
}

Result<std::vector<BenchRun>> measure(const BenchArguments& arguments, const std::vector<CompileRequest>& requests,
                                      std::span<const std::optional<Contexts>> contexts) {
  auto folder = TemporaryFolder::create();
  if (!folder) return folder.errors();
  std::vector<BenchVariant> variants;
  for (const std::string& model : arguments.models) {
    for (const CompileRequest& request : requests) {
      if (const Status done = prepare(model, request, arguments.inputs, *folder, contexts, variants); !done)
        return done.errors();
    }
  }
  for (BenchVariant& variant : variants) variant.choice.keeps_tensors_there = arguments.keeps_tensors_there;
  Progress progress("measuring");
  BenchOptions options = arguments.options;
  options.threads = requests.front().threads;
  options.progress = [&](double done) { progress.show(done); };
  return bench(variants, options);
}

int run_bench(const BenchArguments& arguments) {
  auto request = request_for(arguments.compile, arguments.models);
  if (!request) return report(request.errors());
  request->plans_examples = true;
  const auto contexts = contexts_of(arguments.contexts, request->threads);
  if (!contexts) return report(contexts.errors());
  // What `auto` measures with is what a request will run with.
  if (const std::optional<Contexts>& asked = contexts->back()) request->threads = asked->threads;
  warn_of_random(*request);
  // Bad ones are told before compiling, which may take minutes; each child reads its own.
  if (const auto read = read_inputs(arguments.inputs); !read) return report(read.errors());
  const auto runs = measure(arguments, wanted_requests(arguments, *request), *contexts);
  if (!runs) return report(runs.errors());
  print_machine(*runs);
  if (arguments.contexts.counts.empty()) {
    print_table(*runs);
    print_verdicts(*runs);
  } else {
    print_contexts(*runs);
  }
  return arguments.json.empty() ? 0 : write_json(arguments.json, bench_json(*runs));
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<BenchArguments>();
  CLI::App& verb =
      *app.add_subcommand("bench", "measure latency, throughput, load time and memory; compare variants in turns");
  verb.add_option("MODEL", arguments->models, "model files or .octv")->required();
  const auto read_compare = [words = &arguments->compare](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) words->push_back(value_of("--compare", text, kPrecisionWords));
  };
  verb.add_option_function<std::vector<std::string>>("--compare", read_compare,
                                                     "run these precisions of each model in turns")
      ->delimiter(',')
      ->type_name("fp32,tf32,int8,auto");
  verb.add_option("--seconds", arguments->options.seconds, "measured time per variant")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--warmup", arguments->options.warmup, "runs before measuring, per variant")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  add_timed_inputs(verb, arguments->inputs);
  add_contexts_options(verb, arguments->contexts);
  add_word_option(
      verb, "--tensors", arguments->keeps_tensors_there, kTensorPlaces,
      "host: inputs and outputs lie in this machine's memory; or device: in that of the CUDA device, so that "
      "nothing is copied between them");
  verb.add_option("--json", arguments->json, "write the figures as JSON")->type_name("F");
  add_run_options(verb, arguments->compile, Batches::several);
  verb.callback([arguments, &exit_code] { exit_code = run_bench(*arguments); });
}

// One variant of `bench` in its own process; not for users.
void add_bench_worker(CLI::App& app, int& exit_code) {
  struct Worker {
    BenchVariant variant;
    Contexts contexts;
    std::vector<std::string> inputs;
  };
  const auto worker = std::make_shared<Worker>();
  RunChoice& choice = worker->variant.choice;
  CLI::App& verb = *app.add_subcommand("bench-worker", "")->group("");
  verb.add_option("FILE", worker->variant.file)->required();
  add_word_option(verb, "--precision", choice.plan.precision, kPlanPrecisions, "");
  verb.add_option("--batch", choice.plan.batch);
  verb.add_option_function<std::vector<std::string>>("--shape", [&choice](const std::vector<std::string>& texts) {
    ShapeLists lists;
    for (const std::string& text : texts) read_shapes(text, lists);
    if (const auto shapes = shapes_in(lists); shapes && shapes->size() == 1) choice.shapes = shapes->front();
  });
  verb.add_option("--threads", worker->contexts.threads)->required();
  verb.add_option("--contexts", worker->contexts.count);
  verb.add_option("--max-iterations", choice.settings.max_iterations);
  add_bytes_option(verb, "--memory-limit", choice.settings.context_bytes, "");
  verb.add_option("--device", choice.settings.device);
  verb.add_flag("--tensors-on-device", choice.keeps_tensors_there);
  verb.add_option("--input", worker->inputs);
  verb.callback([worker, &exit_code] {
    auto given = read_inputs(worker->inputs);
    exit_code = given ? bench_worker(worker->variant, worker->contexts, filled_with(std::move(*given)))
                      : report(given.errors());
  });
}

}  // namespace octavo::cli
