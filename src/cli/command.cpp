// The command line: reads arguments, calls one function of the library, prints its report. Part of cli/.
#include "cli/command.h"

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "cli/common.h"
#include "cli/process.h"
#include "cli/repair.h"
#include "octavo/run.h"

namespace octavo::cli {
namespace {

void add_verbs(CLI::App& app, int& exit_code) {
  constexpr AddVerb kVerbs[] = {&add_compile, &add_quantize, &add_run,         &add_bench,    &add_evaluate,
                                &add_explain, &add_inspect,  &add_compare,     &add_diagnose, &add_reduce,
                                &add_tune,    &add_zoo,      &add_bench_worker};
  for (const AddVerb add : kVerbs) add(app, exit_code);
  // A list with commas is one word: what follows it may be the MODEL.
  for (CLI::App* verb : app.get_subcommands({})) {
    for (CLI::Option* option : verb->get_options()) {
      if (option->get_delimiter() != '\0') option->allow_extra_args(false);
    }
  }
}

bool has_verb(CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; }).empty();
}

// --help and --version are "errors" of code 0.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, problems;
  const int code = app.exit(error, out, problems);
  fmt::print("{}", out.str());
  tell(problems.str());
  return code == 0 ? 0 : 2;
}

int run_verb(int argc, char** argv) {
  CLI::App app{"octavo: int8 neural networks, compiled ahead of time, on CPUs"};
  app.set_version_flag("--version", "octavo " + std::string(v1::version()));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 the answer is no, 2 bad usage, 3 invalid input file, 4 unsupported, 5 resources.\n"
      "octavo VERB --help tells more; docs/cli.md tells everything.");
  int exit_code = 0;
  add_verbs(app, exit_code);
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.empty() && first.front() != '-' && !has_verb(app, first)) {
    return report({.kind = ErrorKind::usage,
                   .where = "octavo",
                   .found = "verb '" + first + "'",
                   .expected = "one of those that octavo --help shows"});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error);
  }
  return exit_code;
}

}  // namespace

int command(int argc, char** argv) {
  prepare_process();
  return run_guarded([&] { return run_verb(argc, argv); });
}

}  // namespace octavo::cli
