// octavo compile. Part of cli/.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/file.h"
#include "cli/common.h"
#include "cli/describe.h"

namespace octavo::cli {
namespace {

struct Arguments {
  std::string model;
  std::string output;
  std::string report;
  std::string scales_out;
  CompileArguments compile;
};

// With --scales-out samples are looked at here, once; compiling then takes what they taught.
Status calibrate(const Arguments& arguments, CompileRequest& request) {
  if (arguments.scales_out.empty()) return ok_status();
  const auto quantized = quantize_file(arguments.model, request);
  if (!quantized) return quantized.errors();
  request.options.calibrated = quantized->calibrated();
  request.calibrate.clear();
  return write_text(arguments.scales_out, quantized->scales());
}

int compile(const Arguments& arguments) {
  auto request = parse_compile_arguments(arguments.compile);
  if (!request) return report(request.errors());
  if (v1::is_compiled(arguments.model)) {
    return report({.kind = ErrorKind::usage, .where = arguments.model, .found = "a compiled model", .expected = "a model file to compile"});
  }
  warn_of_random(arguments.compile);
  Result<v1::CompiledModel> compiled = [&]() -> Result<v1::CompiledModel> {
    Progress progress("calibrating");
    request->options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(static_cast<double>(done) / static_cast<double>(total)); };
    if (const Status done = calibrate(arguments, *request); !done) return done.errors();
    return open_or_compile(arguments.model, *request);
  }();
  if (!compiled) return report(compiled.errors());
  const std::string output = arguments.output.empty() ? std::filesystem::path(arguments.model).replace_extension(".octv").string() : arguments.output;
  if (const Status saved = compiled->save(output); !saved) return report(saved.errors());
  const v1::ModelInfo info = compiled->info();
  fmt::print("{}\n", summary_of(info));
  for (const v1::PlanInfo& plan : info.plans) fmt::print("{}", describe_plan(plan));
  fmt::print("written: {}\n", output);
  return arguments.report.empty() ? 0 : write_json(arguments.report, info_json(info));
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& verb = *app.add_subcommand("compile", "compile a model file (.onnx, .tflite, .pt2) to an .octv");
  verb.add_option("MODEL", arguments->model, "model file")->required();
  verb.add_option("-o,--output", arguments->output, "compiled file (default: MODEL with .octv)")->type_name("F.octv");
  verb.add_option("--report", arguments->report, "write what was decided as JSON")->type_name("F");
  add_scales_out_option(verb, arguments->scales_out);
  add_compile_options(verb, arguments->compile);
  add_preprocess_option(verb, arguments->compile);
  verb.callback([arguments, &exit_code] { exit_code = compile(*arguments); });
}

}  // namespace octavo::cli
