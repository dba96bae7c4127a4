// octavo evaluate. Part of cli/.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/bench.h"
#include "analyze/evaluate_accuracy.h"
#include "cli/common.h"

namespace octavo::cli {
namespace {

struct Arguments {
  std::vector<std::string> models;
  std::string images;
  std::string labels;
  std::string json;
  int threads = 0;
  CompileArguments compile;
};

struct Row {
  std::string model;
  Precision precision = Precision::int8;
  Accuracy accuracy;
};

// The inputs of a plan with batch 1: samples come one by one.
std::vector<InputSpec> sample_inputs(const v1::PlanInfo& plan) {
  std::vector<InputSpec> inputs;
  for (const v1::TensorInfo& info : plan.inputs) {
    std::vector<std::int64_t> dims = info.shape;
    if (!dims.empty() && dims[0] == plan.batch) dims[0] = 1;
    inputs.push_back({info.name, info.dtype, Shape(dims)});
  }
  return inputs;
}

Result<Row> evaluate_one(const std::string& model, const CompileRequest& request, const Arguments& arguments) {
  const auto compiled = open_or_compile(model, request);
  if (!compiled) return compiled.errors();
  const auto batch = arguments.compile.batches.empty() ? std::nullopt : std::optional(arguments.compile.batches[0]);
  auto session = Session::create(*compiled, request.options.precision, batch, arguments.threads);
  if (!session) return session.errors();
  const auto data = open_labelled(arguments.images, arguments.labels, sample_inputs(session->plan()), {.preprocess = request.preprocess});
  if (!data) return data.errors();
  const std::string name = std::filesystem::path(model).filename().string();
  Progress progress("evaluating " + name);
  const auto accuracy = evaluate_accuracy(
      *session, *data, [&](std::int64_t done, std::int64_t total) { progress.show(static_cast<double>(done) / static_cast<double>(total)); });
  if (!accuracy) return accuracy.errors();
  return Row{name, session->plan().precision, *accuracy};
}

double percent(std::int64_t part, std::int64_t whole) { return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole); }

nlohmann::json rows_json(const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows) {
    const Accuracy& a = row.accuracy;
    list.push_back({{"model", row.model},
                    {"precision", name_of(row.precision)},
                    {"samples", a.samples},
                    {"top1", a.top1},
                    {"top5", a.top5},
                    {"top1_percent", percent(a.top1, a.samples)},
                    {"top5_percent", percent(a.top5, a.samples)},
                    {"classes", a.classes},
                    {"label_offset", a.label_offset},
                    {"mean_ms", a.mean_ms}});
  }
  return {{"machine", machine_json()}, {"models", list}};
}

int evaluate(const Arguments& arguments) {
  const auto request = parse_compile_arguments(arguments.compile);
  if (!request) return report(request.errors());
  warn_of_random(arguments.compile);
  std::vector<Row> rows;
  std::size_t width = 0;  // of the longest name
  for (const std::string& model : arguments.models) width = std::max(width, std::filesystem::path(model).filename().string().size());
  fmt::print("{:<{}} {:>5} {:>9} {:>17} {:>17} {:>10}\n", "", width, "", "samples", "top-1", "top-5", "mean");
  for (const std::string& model : arguments.models) {
    auto row = evaluate_one(model, *request, arguments);
    if (!row) return report(row.errors());
    const Accuracy& a = row->accuracy;
    fmt::print("{:<{}} {:>5} {:>9} {:>6} {:>8.2f} % {:>6} {:>8.2f} % {:>7.2f} ms{}\n", row->model, width, name_of(row->precision), a.samples, a.top1,
               percent(a.top1, a.samples), a.top5, percent(a.top5, a.samples), a.mean_ms, a.label_offset == 1 ? "  (background class first)" : "");
    rows.push_back(std::move(*row));
  }
  return arguments.json.empty() ? 0 : write_json(arguments.json, rows_json(rows));
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& verb = *app.add_subcommand("evaluate", "count right answers on labelled images");
  verb.add_option("MODEL", arguments->models, "model files or .octv")->required();
  verb.add_option("--images", arguments->images, "folder of images, or an .npz with arrays 'images' and 'labels'")->type_name("DIR")->required();
  verb.add_option("--labels", arguments->labels, "lines 'file class' (not for an .npz)")->type_name("F");
  verb.add_option("--threads", arguments->threads, "threads (default: all cores)")->check(CLI::PositiveNumber);
  verb.add_option("--json", arguments->json, "write the counts as JSON")->type_name("F");
  add_preprocess_option(verb, arguments->compile);
  add_compile_options(verb, arguments->compile);
  verb.callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace octavo::cli
