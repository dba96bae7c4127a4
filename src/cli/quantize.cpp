// octavo quantize. Part of cli/.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/quantize_report.h"
#include "base/file.h"
#include "cli/budget.h"
#include "cli/common.h"
#include "cli/options.h"

namespace octavo::cli {
namespace {

struct QuantizeArguments {
  std::string model;
  std::string output;
  std::string scales_out;
  std::string report;
  CompileArguments compile;
  BudgetArguments budget;
};

std::string quantize_output_of(const QuantizeArguments& arguments) {
  return arguments.output.empty() ? std::filesystem::path(arguments.model).replace_extension(".qdq.onnx").string()
                                  : arguments.output;
}

// Quantizes and writes what is asked for.
Result<v1::QuantizedModel> write_quantize(const QuantizeArguments& arguments, const CompileRequest& request) {
  auto quantized = quantize_file(arguments.model, request, QuantizedFor::other_programs);
  if (!quantized) return quantized;
  const auto bytes = quantized->onnx();
  if (!bytes) return bytes.errors();
  if (const Status written = write_text(quantize_output_of(arguments), *bytes); !written) return written.errors();
  if (arguments.scales_out.empty()) return quantized;
  if (const Status written = write_text(arguments.scales_out, quantized->scales()); !written) return written.errors();
  return quantized;
}

void print_quantize_worst(const QuantizationReport& report) {
  constexpr std::size_t kShown = 5;
  fmt::print("outputs {:.1f} dB; worst rounded of {} tensors\n", report.output_db, report.tensors.size());
  const auto sorted = report.worst_first();
  for (std::size_t i = 0; i < std::min(kShown, sorted.size()); ++i) {
    const TensorReport& t = *sorted[i];
    fmt::print("  {:.1f} dB, in the network {:.1f} dB, {:.4f} % clipped: {}\n", t.rounding_db, t.sqnr_db,
               100.0 * t.clipped, t.name);
  }
}

// --report: a page where the name ends in .html, else JSON. The exit code.
int write_report(const QuantizeArguments& arguments, const CompileRequest& request,
                 const v1::QuantizedModel& quantized) {
  const auto told = [&] {
    Progress progress("comparing with fp32");
    return report_quantization(arguments.model, request, quantized, [&](double done) { progress.show(done); });
  }();
  if (!told) return report(told.errors());
  print_quantize_worst(*told);
  if (std::filesystem::path(arguments.report).extension() != ".html")
    return write_json(arguments.report, quantization_json(*told));
  const Status written = write_text(arguments.report, quantization_html(*told));
  return written ? 0 : report(written.errors());
}

Status check_report(const QuantizeArguments& arguments, const CompileRequest& request) {
  if (arguments.report.empty()) return ok_status();
  const auto usage = [](std::string found, std::string expected) {
    return Error{
        .kind = ErrorKind::usage, .where = "--report", .found = std::move(found), .expected = std::move(expected)};
  };
  if (request.calibrate.empty()) return usage("no samples to report on", "--calibrate PATH");
  if (request.options.integer_only)
    return usage("--integer-only beside it", "a report of the network with ends in float, whose scales are the same");
  if (arguments.budget.max_drop)
    return usage("--max-drop beside it", "a report of one quantization: quantize --skip with the names that it found");
  return ok_status();
}

int quantize_within_budget(const QuantizeArguments& arguments, const CompileRequest& request) {
  const int code = run_budget(arguments.model, request, arguments.budget, [&](const CompileRequest& variant) -> Status {
    const auto quantized = write_quantize(arguments, variant);
    return quantized ? ok_status() : Status(quantized.errors());
  });
  if (code == 0 || code == kAnswerIsNo) fmt::print("written: {}\n", quantize_output_of(arguments));
  return code;
}

int quantize(const QuantizeArguments& arguments) {
  if (v1::is_compiled(arguments.model)) {
    return report({.kind = ErrorKind::usage,
                   .where = arguments.model,
                   .found = "a compiled model",
                   .expected = "an fp32 model file"});
  }
  auto request = request_for(arguments.compile, {{arguments.model}}, samples_of(arguments.budget));
  if (!request) return report(request.errors());
  if (const Status budget = check_budget(arguments.budget, *request); !budget) return report(budget.errors());
  if (const Status checked = check_report(arguments, *request); !checked) return report(checked.errors());
  warn_of_random(*request);
  if (arguments.budget.max_drop) return quantize_within_budget(arguments, *request);
  const auto quantized = [&] {
    PhaseProgress progress;
    CompileRequest told = *request;
    told.options.progress = progress.function();
    return write_quantize(arguments, told);
  }();
  if (!quantized) return report(quantized.errors());
  for (const std::string& kept : quantized->kept_in_float()) fmt::print("kept in float: {}\n", kept);
  fmt::print("written: {}\n", quantize_output_of(arguments));
  return arguments.report.empty() ? 0 : write_report(arguments, *request, *quantized);
}

}  // namespace

void add_quantize(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App& verb = *app.add_subcommand(
      "quantize", "quantize an fp32 model file (.onnx, .ort, .tflite, .pt2) to a standard QDQ .onnx");
  verb.add_option("MODEL", arguments->model, "model file")->required();
  verb.add_option("-o,--output", arguments->output, "quantized file (default: MODEL with .qdq.onnx)")
      ->type_name("F.onnx");
  verb.add_option("--report", arguments->report, "write what quantizing costs every tensor: a page (F.html) or JSON")
      ->type_name("F");
  add_scales_out_option(verb, arguments->scales_out);
  add_integer_only_option(verb, arguments->compile);
  add_quantize_options(verb, arguments->compile);
  add_preprocess_option(verb, arguments->compile, PreprocessOf::samples);
  add_budget_options(verb, arguments->budget, arguments->compile.request);
  verb.callback([arguments, &exit_code] { exit_code = quantize(*arguments); });
}

}  // namespace octavo::cli
