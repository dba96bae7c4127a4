// octavo quantize. Part of cli/.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "analyze/file.h"
#include "cli/common.h"

namespace octavo::cli {
namespace {

struct Arguments {
  std::string model;
  std::string output;
  std::string scales_out;
  CompileArguments compile;
};

Result<v1::QuantizedModel> calibrate(const Arguments& arguments, CompileRequest& request) {
  Progress progress("calibrating");
  request.options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(static_cast<double>(done) / static_cast<double>(total)); };
  return quantize_file(arguments.model, request);
}

int quantize(const Arguments& arguments) {
  auto request = parse_compile_arguments(arguments.compile);
  if (!request) return report(request.errors());
  if (v1::is_compiled(arguments.model)) {
    return report({.kind = ErrorKind::usage, .where = arguments.model, .found = "a compiled model", .expected = "an fp32 model file"});
  }
  warn_of_random(arguments.compile);
  const auto quantized = calibrate(arguments, *request);
  if (!quantized) return report(quantized.errors());
  const auto bytes = quantized->onnx();
  if (!bytes) return report(bytes.errors());
  const std::string output =
      arguments.output.empty() ? std::filesystem::path(arguments.model).replace_extension(".qdq.onnx").string() : arguments.output;
  if (const Status written = write_text(output, *bytes); !written) return report(written.errors());
  if (!arguments.scales_out.empty()) {
    if (const Status written = write_text(arguments.scales_out, quantized->scales()); !written) return report(written.errors());
  }
  for (const std::string& kept : quantized->kept_in_float()) fmt::print("kept in float: {}\n", kept);
  fmt::print("written: {} ({:.1f} MB)\n", output, static_cast<double>(bytes->size()) * 1e-6);
  return 0;
}

}  // namespace

void add_quantize(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& verb = *app.add_subcommand("quantize", "quantize an fp32 model file (.onnx, .tflite, .pt2) to a standard QDQ .onnx");
  verb.add_option("MODEL", arguments->model, "model file")->required();
  verb.add_option("-o,--output", arguments->output, "quantized file (default: MODEL with .qdq.onnx)")->type_name("F.onnx");
  add_scales_out_option(verb, arguments->scales_out);
  add_quantize_options(verb, arguments->compile);
  add_preprocess_option(verb, arguments->compile);
  verb.callback([arguments, &exit_code] { exit_code = quantize(*arguments); });
}

}  // namespace octavo::cli
