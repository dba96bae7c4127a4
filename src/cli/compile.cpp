// octavo compile. Part of cli/.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/auto_precision.h"
#include "base/file.h"
#include "cli/budget.h"
#include "cli/common.h"
#include "cli/describe.h"
#include "cli/options.h"

namespace octavo::cli {
namespace {

struct CompileLine {
  std::string model;
  std::string output;
  std::string report;
  std::string scales_out;
  CompileArguments compile;
  BudgetArguments budget;
};

// With --scales-out samples are looked at here, once; compiling then takes what they taught.
Status calibrate_request(const CompileLine& arguments, CompileRequest& request) {
  if (arguments.scales_out.empty()) return ok_status();
  const auto quantized = quantize_file(arguments.model, request);
  if (!quantized) return quantized.errors();
  request.options.calibrated = quantized->calibrated();
  request.calibrate.clear();
  return write_text(arguments.scales_out, quantized->scales());
}

std::string compiled_file_of(const CompileLine& arguments) {
  return arguments.output.empty() ? std::filesystem::path(arguments.model).replace_extension(".octv").string()
                                  : arguments.output;
}

// Compiles and writes what is asked for.
Result<v1::CompiledModel> write_compiled(const CompileLine& arguments, CompileRequest request) {
  if (request.chooses_precision) {
    auto settled = settle_precision(arguments.model, request);
    if (!settled) return settled.errors();
    request = std::move(*settled);
  }
  if (const Status done = calibrate_request(arguments, request); !done) return done.errors();
  auto compiled = open_or_compile(arguments.model, request);
  if (!compiled) return compiled;
  if (const Status saved = compiled->save(compiled_file_of(arguments)); !saved) return saved.errors();
  return compiled;
}

int tell(const CompileLine& arguments, const v1::ModelInfo& info) {
  fmt::print("{}\n", summary_of(info));
  fmt::print("{}{}", describe_sizes(info), describe_parts(info));
  for (const v1::PlanInfo& plan : info.plans) fmt::print("{}", describe_plan(plan));
  fmt::print("written: {}\n", compiled_file_of(arguments));
  return arguments.report.empty() ? 0 : write_json(arguments.report, info_json(info));
}

int compile_within_budget(const CompileLine& arguments, const CompileRequest& request) {
  std::optional<v1::ModelInfo> info;
  const int code = run_budget(arguments.model, request, arguments.budget, [&](CompileRequest variant) -> Status {
    // Measured at batch 1, with the file's own ends.
    variant.options.batches = request.options.batches;
    variant.options.planned_shapes = request.options.planned_shapes;
    variant.options.pictures = request.options.pictures;
    variant.options.output_type = request.options.output_type;
    const auto compiled = write_compiled(arguments, variant);
    if (!compiled) return compiled.errors();
    info = compiled->info();
    return ok_status();
  });
  if (code != 0 && code != kAnswerIsNo) return code;
  fmt::print("written: {}\n", compiled_file_of(arguments));
  const int told = arguments.report.empty() || !info ? 0 : write_json(arguments.report, info_json(*info));
  return told != 0 ? told : code;
}

int compile(const CompileLine& arguments) {
  if (v1::is_compiled(arguments.model)) {
    return report({.kind = ErrorKind::usage,
                   .where = arguments.model,
                   .found = "a compiled model",
                   .expected = "a model file to compile"});
  }
  auto request = request_for(arguments.compile, {{arguments.model}}, samples_of(arguments.budget));
  if (!request) return report(request.errors());
  if (const Status budget = check_budget(arguments.budget, *request); !budget) return report(budget.errors());
  warn_of_random(*request);
  if (arguments.budget.max_drop) return compile_within_budget(arguments, *request);
  const auto compiled = [&] {
    PhaseProgress progress;
    request->options.progress = progress.function();
    return write_compiled(arguments, std::move(*request));
  }();
  if (!compiled) return report(compiled.errors());
  return tell(arguments, compiled->info());
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<CompileLine>();
  CLI::App& verb = *app.add_subcommand("compile", "compile a model file (.onnx, .ort, .tflite, .pt2) to an .octv");
  verb.add_option("MODEL", arguments->model, "model file")->required();
  verb.add_option("-o,--output", arguments->output, "compiled file (default: MODEL with .octv)")->type_name("F.octv");
  verb.add_option("--report", arguments->report, "write what was decided as JSON")->type_name("F");
  add_scales_out_option(verb, arguments->scales_out);
  add_compile_options(verb, arguments->compile, Batches::several);
  add_preprocess_option(verb, arguments->compile, PreprocessOf::samples);
  add_budget_options(verb, arguments->budget, arguments->compile.request);
  verb.callback([arguments, &exit_code] { exit_code = compile(*arguments); });
}

}  // namespace octavo::cli
