// octavo diagnose. Part of cli/.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/repair.h"

namespace octavo::cli {
namespace {

struct Arguments {
  std::string model, json;
  RepairArguments repairs;
};

int diagnose(const Arguments& arguments) {
  nlohmann::json found = {{"model", arguments.model}};
  const int code = write_fixed(arguments.model, arguments.repairs, found);
  if (code > kAnswerIsNo || arguments.json.empty()) return code;
  const int written = write_json(arguments.json, found);
  return written != 0 ? written : code;
}

}  // namespace

void add_diagnose(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& verb = *app.add_subcommand("diagnose", "repair a quantized file that is slow in its engine");
  verb.add_option("MODEL", arguments->model, "a quantized ONNX file")->required();
  add_repair_options(verb, arguments->repairs);
  verb.get_option("--write-fixed")->required();
  verb.add_option("--json", arguments->json, "write what was found as JSON")->type_name("F");
  verb.callback([arguments, &exit_code] { exit_code = diagnose(*arguments); });
}

}  // namespace octavo::cli
