// Options in words become what cli/ makes of them. Part of bindings/.
#include "bindings/bindings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyze/bench.h"
#include "api/inside.h"
#include "cli/command.h"
#include "cli/describe.h"
#include "cli/options.h"
#include "onednn/onednn.h"

namespace octavo::v1 {
namespace {

using cli::CompileArguments;

ModelSource source_of(const GivenModel& model) { return {model.name, model.bytes}; }

// Messages of the parser name the option first: "--batch: found ...".
Error usage_error(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::size_t colon = text.starts_with("--") ? text.find(": ") : std::string::npos;
  if (colon == std::string::npos) return {.kind = ErrorKind::usage, .where = "options", .hint = text};
  return {.kind = ErrorKind::usage, .where = text.substr(0, colon), .hint = text.substr(colon + 2)};
}

// What the words come to for this model.
Result<CompileRequest> read_words(const GivenModel& model, const std::vector<std::string>& words,
                                  void (*add_options)(CLI::App&, CompileArguments&)) {
  CLI::App app;
  CompileArguments arguments;
  add_options(app, arguments);
  app.add_option("--threads", arguments.request.threads)->check(cli::positive_number());
  app.add_option("--seconds", arguments.request.seconds)->check(cli::positive_number());
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as the parser takes them
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return usage_error(error);
  }
  if (is_compiled(source_of(model))) {
    return Error{.kind = ErrorKind::usage,
                 .where = model.name,
                 .found = "a compiled model",
                 .expected = "a model file to compile"};
  }
  return cli::request_for(arguments, {{model.name}});
}

void add_compile(CLI::App& app, CompileArguments& arguments) {
  cli::add_compile_options(app, arguments, cli::Batches::several);
  cli::add_preprocess_option(app, arguments, cli::PreprocessOf::samples);
  app.add_option_function<std::string>("--unquantized",
                                       [&arguments](const std::string& word) {
                                         if (word == "fp32") arguments.request.options.unquantized = Unquantized::fp32;
                                       })
      ->check(CLI::IsMember({"refuse", "fp32"}));
}

void add_quantize(CLI::App& app, CompileArguments& arguments) {
  cli::add_integer_only_option(app, arguments);
  cli::add_quantize_options(app, arguments);
  cli::add_preprocess_option(app, arguments, cli::PreprocessOf::samples);
}

void watch_with(const Watch& watch, CompileRequest& request) {
  request.options.progress = watch.progress;
  request.options.stop = watch.stop;
}

}  // namespace

Result<CompiledModel> compile_as_told(const GivenModel& model, const std::vector<std::string>& words,
                                      const Watch& watch) {
  auto request = read_words(model, words, &add_compile);
  if (!request) return request.errors();
  watch_with(watch, *request);
  return open_or_compile(source_of(model), *request);
}

Result<QuantizedModel> quantize_as_told(const GivenModel& model, const std::vector<std::string>& words,
                                        const Watch& watch) {
  auto request = read_words(model, words, &add_quantize);
  if (!request) return request.errors();
  watch_with(watch, *request);
  return quantize_file(source_of(model), *request, QuantizedFor::other_programs);
}

Result<std::vector<SampleInput>> sample_inputs(const GivenModel& model, const std::vector<std::string>& words) {
  const auto request = read_words(model, words, &add_compile);
  if (!request) return request.errors();
  const auto specs = model_inputs(source_of(model), *request);
  if (!specs) return specs.errors();
  std::vector<SampleInput> inputs;
  for (const InputSpec& spec : *specs) {
    const auto dims = spec.shape.dims();
    inputs.push_back({spec.name, spec.dtype, {dims.begin(), dims.end()}});
    for (std::size_t axis = 1; axis < dims.size(); ++axis)
      inputs.back().is_open = inputs.back().is_open || spec.is_open(axis);
  }
  return inputs;
}

std::string describe_model(const ModelInfo& info) {
  return cli::info_json(info).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // names are any bytes
}

std::string describe_machine() {
  nlohmann::json machine = machine_json();
  machine["has_onednn"] = octavo_onednn_library() != nullptr;
  return machine.dump();
}

int run_command(int argc, char** argv) { return cli::command(argc, argv); }

}  // namespace octavo::v1
