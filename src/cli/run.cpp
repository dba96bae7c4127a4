// octavo run. Part of cli/.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "cli/common.h"
#include "cli/describe.h"
#include "cli/inputs.h"
#include "data/npy.h"
#include "quantize/node_pattern.h"

namespace octavo::cli {
namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> inputs;
  std::string output_dir = ".";
  std::vector<std::string> dump;
  int threads = 0;
  CompileArguments compile;
};

Result<Session> open_session(const Arguments& arguments, CompileRequest request, const NamedTensors& tensors) {
  const auto given = batch_of(tensors);
  std::optional<std::int64_t> batch = given;
  if (!arguments.compile.batches.empty()) batch = arguments.compile.batches[0];
  else if (given) request.options.batches = {*given};
  if (!v1::is_compiled(arguments.model)) {
    ask_for_shapes(tensors, request);
    batch.reset();  // what was compiled has one plan
  }
  const auto compiled = open_or_compile(arguments.model, request);
  if (!compiled) return compiled.errors();
  const v1::ModelInfo info = compiled->info();
  if (info.plans.size() == 1) batch.reset();  // a wrong shape is then reported with the tensor's name
  return Session::create(*compiled, request.options.precision, batch, arguments.threads);
}

// Collects the values that --dump names while the session runs.
Status run_with_dump(Session& session, const std::vector<std::string>& patterns,
                     std::map<std::string, Tensor>& dumped) {
  session.context().set_step_hook([&](const v1::StepInfo& step) {
    for (std::size_t i = 0; i < step.outputs.size() && i < step.value_names.size(); ++i) {
      const std::string& name = step.value_names[i];
      const bool is_wanted = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        return pattern == "all" || matches_glob(pattern, name);
      });
      if (!is_wanted) continue;
      const v1::ConstTensorRef& value = step.outputs[i];
      dumped[name] = Tensor::copy_of({value.dtype, Shape(value.shape), static_cast<const std::byte*>(value.data)});
    }
  });
  if (const Status done = session.run(); !done) return done;
  for (const std::string& pattern : patterns) {
    const bool is_found = pattern == "all" || std::any_of(dumped.begin(), dumped.end(), [&](const auto& entry) {
                            return matches_glob(pattern, entry.first);
                          });
    if (!is_found)
      return Error{.kind = ErrorKind::usage,
                   .where = "--dump",
                   .found = "'" + pattern + "', which no value is called",
                   .expected = "a name, a glob or all"};
  }
  return ok_status();
}

Status write_all(const Session& session, const std::map<std::string, Tensor>& dumped, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{.kind = ErrorKind::resource, .where = folder, .found = "cannot be made: " + error.message()};
  const auto write = [&](const std::string& name, const Tensor& tensor) -> Status {
    const std::string path = (std::filesystem::path(folder) / (file_name_of(name) + ".npy")).string();
    if (Status written = write_npy(path, tensor.view()); !written) return written;
    fmt::print("{}  {}[{}]\n", path, name_of(tensor.dtype()), tensor.shape().to_string());
    return ok_status();
  };
  for (const auto& [name, tensor] : dumped) {
    if (Status written = write(name, tensor); !written) return written;
  }
  // Last, so that an output that was also dumped has the type and layout of the model.
  for (std::size_t i = 0; i < session.outputs().size(); ++i) {
    if (Status written = write(session.plan().outputs[i].name, session.outputs()[i]); !written) return written;
  }
  return ok_status();
}

int run(const Arguments& arguments) {
  const auto request = parse_compile_arguments(arguments.compile, arguments.threads);
  if (!request) return report(request.errors());
  const auto tensors = read_inputs(arguments.inputs);
  if (!tensors) return report(tensors.errors());
  warn_of_random(arguments.compile);
  auto session = open_session(arguments, *request, *tensors);
  if (!session) return report(session.errors());
  if (const Status set = set_inputs(*tensors, *session); !set) return report(set.errors());
  std::map<std::string, Tensor> dumped;
  if (const Status done = run_with_dump(*session, arguments.dump, dumped); !done) return report(done.errors());
  const Status written = write_all(*session, dumped, arguments.output_dir);
  return written ? 0 : report(written.errors());
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& verb = *app.add_subcommand("run", "run a model once on .npy inputs; writes one NAME.npy per output");
  verb.add_option("MODEL", arguments->model, "model file or .octv")->required();
  verb.add_option("--input", arguments->inputs, "an input; the name may be left out where there is one")
      ->type_name("NAME=x.npy");
  verb.add_option("--output-dir", arguments->output_dir, "folder for the results")
      ->type_name("D")
      ->capture_default_str();
  verb.add_option("--threads", arguments->threads, "threads (default: all cores)")->check(CLI::PositiveNumber);
  verb.add_option("--dump", arguments->dump, "also write these intermediate values (names, globs), or all of them")
      ->delimiter(',')
      ->type_name("NAME|all");
  add_compile_options(verb, arguments->compile);
  add_preprocess_option(verb, arguments->compile);
  verb.callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace octavo::cli
