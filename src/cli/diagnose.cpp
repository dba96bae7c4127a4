// octavo diagnose. Part of cli/.
#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/common.h"
#include "cli/options.h"
#include "cli/repair.h"

namespace octavo::cli {
namespace {

using diagnose::Engine;

struct DiagnoseArguments {
  std::string model, html, json;
  diagnose::DiagnoseOptions options;
  RepairArguments repairs;
};

int run_diagnose(const DiagnoseArguments& arguments) {
  const auto diagnosis = diagnose::diagnose_file(arguments.model, arguments.options);
  if (!diagnosis) return report(diagnosis.errors());
  fmt::print("{}", diagnose::diagnosis_text(*diagnosis));
  nlohmann::json found = diagnose::diagnosis_json(*diagnosis);
  int code = 0;
  if (!arguments.repairs.output.empty()) {
    fmt::print("\n");
    code = write_fixed(arguments.model, arguments.repairs, found);
    if (code > kAnswerIsNo) return code;
  }
  if (!arguments.html.empty()) {
    if (const Status done = write_text(arguments.html, diagnose::diagnosis_html(*diagnosis)); !done)
      return report(done.errors());
  }
  const int written = arguments.json.empty() ? 0 : write_json(arguments.json, found);
  return written != 0 ? written : code;
}

}  // namespace

void add_diagnose(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<DiagnoseArguments>();
  CLI::App& verb = *app.add_subcommand("diagnose", "say why a quantized file is slow in its engine, and repair it");
  verb.add_option("MODEL", arguments->model, "a quantized model file: ONNX, TFLite or .pt2")->required();
  verb.add_option("--against", arguments->options.against, "the same network in fp32: what quantization changed")
      ->type_name("FP32");
  verb.add_option("--profile", arguments->options.profile, "what the engine wrote of its runs")->type_name("F");
  verb.add_option("--run-ms", arguments->options.run_ms, "what a run takes without the profiler, whose own time goes")
      ->type_name("MS")
      ->check(CLI::PositiveNumber);
  verb.add_option("--rates", arguments->options.rates, "what scripts/stories/rates.py measured of the engine here")
      ->type_name("F");
  std::vector<std::string_view> words;
  for (const Engine engine : diagnose::kEngines) words.push_back(name_of(engine));
  const auto read_engine = [arguments, words](const std::string& word) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end())
      throw CLI::ValidationError("--engine", "found '" + word + "', expected " + list_of(words));
    arguments->options.engine = diagnose::kEngines[found - words.begin()];
  };
  verb.add_option_function<std::string>("--engine", read_engine, list_of(words))->type_name("WORD");
  add_repair_options(verb, arguments->repairs);
  verb.add_option("--html", arguments->html, "write a page")->type_name("F");
  verb.add_option("--json", arguments->json, "write what was found as JSON")->type_name("F");
  verb.callback([arguments, &exit_code] { exit_code = run_diagnose(*arguments); });
}

}  // namespace octavo::cli
