// octavo evaluate. Part of cli/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/bench.h"
#include "analyze/evaluate_accuracy.h"
#include "analyze/table.h"
#include "cli/common.h"
#include "cli/describe.h"
#include "cli/inputs.h"
#include "cli/options.h"

namespace octavo::cli {
namespace {

struct EvaluateArguments {
  std::vector<std::string> models;
  std::string images;
  std::string labels;
  std::string json;
  CompileArguments compile;
};

// A model with what it needs to be evaluated.
struct Entrant {
  std::string name;
  Session session;
  std::vector<InputSpec> inputs;
  std::optional<Preprocess> preprocess;
};

// Those of the first sample, in a batch of the size that is asked for.
Result<v1::InputShapes> shapes_of_first(const v1::ModelInfo& info, const CompileRequest& request,
                                        const EvaluateArguments& arguments) {
  const auto preprocess = preprocess_for(info, request);
  if (!preprocess) return preprocess.errors();
  const std::vector<InputSpec> inputs = open_sample_inputs(info);
  const auto data = open_labelled(arguments.images, arguments.labels, inputs, {.preprocess = *preprocess});
  if (!data) return data.errors();
  const auto first = data->samples->shapes(0);
  if (!first) return first.errors();
  v1::InputShapes shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes[inputs[i].name] = (*first)[i].to_vector();
    if (inputs[i].is_open(0)) shapes[inputs[i].name][0] = request.plan.batch.value_or(1);
  }
  return shapes;
}

Result<Entrant> enter(const std::string& model, const CompileRequest& request, const EvaluateArguments& arguments) {
  auto session = open_session(model, request, {},
                              [&](const v1::ModelInfo& info) { return shapes_of_first(info, request, arguments); });
  if (!session) return session.errors();
  auto inputs = session->sample_inputs();
  const auto preprocess = preprocess_for(*session, request);
  if (!preprocess) return preprocess.errors();
  return Entrant{std::filesystem::path(model).filename().string(), std::move(*session), std::move(inputs), *preprocess};
}

// Models with the same inputs share their samples.
Result<std::vector<Accuracy>> evaluate_all(std::vector<Entrant>& entrants, const EvaluateArguments& arguments) {
  std::vector<std::unique_ptr<LabelledSamples>> opened;
  std::vector<EvaluatedModel> models;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const auto same =
        std::find_if(entrants.begin(), entrants.begin() + static_cast<std::ptrdiff_t>(i), [&](const Entrant& other) {
          return other.inputs == entrants[i].inputs && other.preprocess == entrants[i].preprocess;
        });
    const auto index = static_cast<std::size_t>(same - entrants.begin());
    if (index < i) {
      models.push_back({&entrants[i].session, models[index].data});
      continue;
    }
    auto data =
        open_labelled(arguments.images, arguments.labels, entrants[i].inputs, {.preprocess = entrants[i].preprocess});
    if (!data) return data.errors();
    opened.push_back(std::make_unique<LabelledSamples>(std::move(*data)));
    models.push_back({&entrants[i].session, opened.back().get()});
  }
  Progress progress("evaluating");
  return evaluate_accuracy(models, [&](std::int64_t done, std::int64_t total) { progress.count(done, total); });
}

double evaluate_percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// "73.70 % (68.1 to 78.6)"
std::string share_text(std::int64_t part, std::int64_t whole) {
  const auto [low, high] = likely_share(part, whole);
  return fmt::format("{:.2f} % ({:.1f} to {:.1f})", evaluate_percent(part, whole), 100.0 * low, 100.0 * high);
}

void print_evaluate(const std::vector<Entrant>& entrants, const std::vector<Accuracy>& accuracies) {
  Table table(
      {"", "", "#samples", "#top-1", "likely at 95 %", "#top-5", "#", "#mean", "agrees with the first", "#SQNR", ""});
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const Accuracy& a = accuracies[i];
    table.add_row({entrants[i].name, name_of(entrants[i].session.plan().precision), std::to_string(a.samples),
                   std::to_string(a.top1), share_text(a.top1, a.samples), std::to_string(a.top5),
                   fmt::format("{:.2f} %", evaluate_percent(a.top5, a.samples)), ms_text(a.mean_ms),
                   a.likeness ? share_text(a.likeness->agreeing, a.samples) : std::string(),
                   a.likeness ? fmt::format("{:.1f} dB", a.likeness->sqnr_db) : std::string(),
                   a.label_offset == 1 ? "(background class first)" : ""});
  }
  fmt::print("{}", table.text());
}

nlohmann::json accuracy_json(const Entrant& entrant, const Accuracy& a) {
  const auto interval = [&](std::int64_t part) {
    const auto [low, high] = likely_share(part, a.samples);
    return nlohmann::json{100.0 * low, 100.0 * high};
  };
  nlohmann::json object = {{"model", entrant.name},
                           {"precision", name_of(entrant.session.plan().precision)},
                           {"samples", a.samples},
                           {"top1", a.top1},
                           {"top5", a.top5},
                           {"top1_percent", evaluate_percent(a.top1, a.samples)},
                           {"top1_interval", interval(a.top1)},
                           {"top5_percent", evaluate_percent(a.top5, a.samples)},
                           {"classes", a.classes},
                           {"label_offset", a.label_offset},
                           {"mean_ms", a.mean_ms}};
  if (!a.likeness) return object;
  object["agreeing"] = a.likeness->agreeing;
  object["agreement_percent"] = evaluate_percent(a.likeness->agreeing, a.samples);
  object["agreement_interval"] = interval(a.likeness->agreeing);
  object["sqnr_db"] = std::isfinite(a.likeness->sqnr_db) ? nlohmann::json(a.likeness->sqnr_db) : nlohmann::json();
  return object;
}

int evaluate(const EvaluateArguments& arguments) {
  const auto request = request_for(arguments.compile, arguments.models);
  if (!request) return report(request.errors());
  warn_of_random(*request);
  std::vector<Entrant> entrants;
  for (const std::string& model : arguments.models) {
    auto entrant = enter(model, *request, arguments);
    if (!entrant) return report(entrant.errors());
    entrants.push_back(std::move(*entrant));
  }
  const auto accuracies = evaluate_all(entrants, arguments);
  if (!accuracies) return report(accuracies.errors());
  print_evaluate(entrants, *accuracies);
  if (arguments.json.empty()) return 0;
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < entrants.size(); ++i) list.push_back(accuracy_json(entrants[i], (*accuracies)[i]));
  return write_json(arguments.json, {{"machine", machine_json()}, {"models", list}});
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App& verb =
      *app.add_subcommand("evaluate", "count right answers on labelled images; how near the models are to the first");
  verb.add_option("MODEL", arguments->models, "model files or .octv")->required();
  verb.add_option("--images", arguments->images, "folder of images, or an .npz with arrays 'images' and 'labels'")
      ->type_name("DIR")
      ->required();
  verb.add_option("--labels", arguments->labels, "lines 'file class' (not for an .npz)")->type_name("F");
  verb.add_option("--json", arguments->json, "write the counts as JSON")->type_name("F");
  add_run_options(verb, arguments->compile, Batches::one, PreprocessOf::images);
  verb.callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace octavo::cli
