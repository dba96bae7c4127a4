// octavo zoo. Part of cli/.
#include "zoo/zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/file.h"
#include "cli/common.h"

namespace octavo::cli {
namespace {

struct ZooArguments {
  std::string name;
  std::string output;
  std::uint64_t seed = 1;
  bool list = false;
};

int zoo(const ZooArguments& arguments) {
  if (arguments.list) {
    fmt::print("{}\n", fmt::join(zoo_names(), "\n"));
    return 0;
  }
  if (arguments.name.empty())
    return report(
        {.kind = ErrorKind::usage, .where = "zoo", .found = "no NAME", .expected = "one of those that --list shows"});
  const auto bytes = [&] {
    Progress progress("making " + arguments.name);
    return make_zoo_model(arguments.name,
                          {.seed = arguments.seed, .progress = [&](std::int64_t done, std::int64_t total) {
                             progress.show(static_cast<double>(done) / static_cast<double>(total));
                           }});
  }();
  if (!bytes) return report(bytes.errors());
  const std::string output = arguments.output.empty() ? arguments.name + ".onnx" : arguments.output;
  if (const Status written = write_text(output, *bytes); !written) return report(written.errors());
  fmt::print("written: {} ({:.1f} MB)\n", output, static_cast<double>(bytes->size()) * 1e-6);
  return 0;
}

}  // namespace

void add_zoo(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ZooArguments>();
  CLI::App& verb =
      *app.add_subcommand("zoo", "make a known architecture with seeded weights, for benchmarks and tests");
  verb.add_option("NAME", arguments->name, "architecture, by torchvision's name");
  verb.add_option("-o,--output", arguments->output, "ONNX file (default: NAME.onnx)")->type_name("F.onnx");
  verb.add_option("--seed", arguments->seed, "seed of the weights")->capture_default_str();
  verb.add_flag("--list", arguments->list, "list the architectures");
  verb.callback([arguments, &exit_code] { exit_code = zoo(*arguments); });
}

}  // namespace octavo::cli
