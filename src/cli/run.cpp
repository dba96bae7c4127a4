// octavo run. Part of cli/.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "cli/common.h"
#include "cli/describe.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "data/npy.h"
#include "quantize/node_pattern.h"

namespace octavo::cli {
namespace {

struct RunArguments {
  std::string model;
  std::vector<std::string> inputs;
  std::string output_dir = ".";
  std::vector<std::string> dump;
  std::string mask;  // of padding that is left out; empty: all of it is computed
  CompileArguments compile;
};

// Runs; collects the values that --dump names meanwhile. Without it no value is kept beyond its use.
Status run_with_dump(Session& session, const std::vector<std::string>& patterns,
                     std::map<std::string, Tensor>& dumped) {
  if (patterns.empty()) return session.run();
  if (session.is_program()) return needs_one_network("--dump");
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

// Writes NAME.npy for each tensor into a folder; tensors whose names come to one file get NAME_2.npy and so on.
class ResultFolder {
 public:
  static Result<ResultFolder> create(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return Error{.kind = ErrorKind::resource, .where = path, .found = "cannot be made: " + error.message()};
    return ResultFolder(path);
  }

  Status write(const std::string& name, const Tensor& tensor) {
    const std::string stem = file_name_of(name);
    std::string file = stem;
    for (int i = 2; !taken_.insert(file).second; ++i) file = stem + "_" + std::to_string(i);
    const std::string path = (std::filesystem::path(path_) / (file + ".npy")).string();
    if (Status written = write_npy(path, tensor.view()); !written) return written;
    fmt::print("{}  {}[{}]\n", path, name_of(tensor.dtype()), tensor.shape().to_string());
    return ok_status();
  }

 private:
  explicit ResultFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::set<std::string> taken_;
};

// The outputs first: their files have their names, whatever is dumped. An output that is also dumped is written once,
// with the type and layout of the model.
Status write_all(const Session& session, std::map<std::string, Tensor> dumped, const std::string& path) {
  auto folder = ResultFolder::create(path);
  if (!folder) return folder.errors();
  for (std::size_t i = 0; i < session.outputs().size(); ++i) {
    const std::string& name = session.plan().outputs[i].name;
    if (Status written = folder->write(name, session.outputs()[i]); !written) return written;
    dumped.erase(name);
  }
  for (const auto& [name, tensor] : dumped) {
    if (Status written = folder->write(name, tensor); !written) return written;
  }
  return ok_status();
}

int run_run(const RunArguments& arguments) {
  const auto request = request_for(arguments.compile, {{arguments.model}});
  if (!request) return report(request.errors());
  const auto inputs = read_inputs(arguments.inputs);
  if (!inputs) return report(inputs.errors());
  warn_of_random(*request);
  auto session = open_session(arguments.model, *request, *inputs);
  if (!session) return report(session.errors());
  if (const Status set = set_inputs(*inputs, *request, *session); !set) return report(set.errors());
  if (!arguments.mask.empty()) {
    if (const Status skips = session->skip_padding(arguments.mask); !skips) return report(skips.errors());
  }
  std::map<std::string, Tensor> dumped;
  if (const Status done = run_with_dump(*session, arguments.dump, dumped); !done) return report(done.errors());
  const Status written = write_all(*session, dumped, arguments.output_dir);
  return written ? 0 : report(written.errors());
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<RunArguments>();
  CLI::App& verb =
      *app.add_subcommand("run", "run a model once on arrays or a picture; writes one NAME.npy per output");
  verb.add_option("MODEL", arguments->model, "model file or .octv")->required();
  verb.add_option("--input", arguments->inputs,
                  "an input, an .npy or an image; the name may be left out where there is one")
      ->type_name("NAME=x.npy");
  verb.add_option("--output-dir", arguments->output_dir, "folder for the results")
      ->type_name("D")
      ->capture_default_str();
  verb.add_option("--dump", arguments->dump, "also write these intermediate values (names, globs), or all of them")
      ->delimiter(',')
      ->type_name("NAME|all");
  verb.add_option("--skip-padding", arguments->mask,
                  "leave out what only pads the sequences of a batch: the input [batch, tokens] that is 0 for it")
      ->type_name("MASK")
      ->excludes("--dump");
  add_run_options(verb, arguments->compile, Batches::one, PreprocessOf::images);
  verb.callback([arguments, &exit_code] { exit_code = run_run(*arguments); });
}

}  // namespace octavo::cli
