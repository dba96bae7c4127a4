// octavo diagnose --write-fixed. Part of cli/.
#include "cli/repair.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analyze/onnx_file.h"
#include "base/file.h"
#include "cli/common.h"
#include "diagnose/repair/repair.h"
#include "import/import.h"

namespace octavo::cli {
namespace {

// None: infinite.
nlohmann::json repair_decibels(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json json_of(const repair::Done& done) {
  return {{"name", done.repair->name},
          {"what", done.repair->what},
          {"why", done.repair->why},
          {"places", done.places},
          {"equal", done.is_equal},
          {"sqnr_db", repair_decibels(done.sqnr_db)},
          {"noise_before_db", repair_decibels(done.noise_before_db)},
          {"noise_after_db", repair_decibels(done.noise_after_db)}};
}

std::string answers(const repair::Done& done) {
  if (done.is_equal) return "the same bits";
  return fmt::format("{:.1f} dB to rounding noise, {:.1f} before", done.noise_after_db, done.noise_before_db);
}

// Says what was done, and has it written.
template <class Model, class Write>
int tell_and_write(const std::string& model, const std::string& output, const repair::Repaired<Model>& repaired,
                   nlohmann::json& json, Write write) {
  json["repairs"] = nlohmann::json::array();
  for (const repair::Done& done : repaired.done) json["repairs"].push_back(json_of(done));
  if (repaired.done.empty()) {
    fmt::print("nothing to repair: {} is not written\n", output);
    return kAnswerIsNo;
  }
  if (const Status written = write(output, repaired.model); !written) return report(written.errors());
  fmt::print("written: {}, checked by running it and {} here on the same random inputs\n", output, model);
  for (const repair::Done& done : repaired.done)
    fmt::print("  {:<27} {:>5} places, {:<40}  {}\n", done.repair->name, done.places, answers(done), done.repair->what);
  return 0;
}

}  // namespace

void add_repair_options(CLI::App& verb, RepairArguments& arguments) {
  auto* output = verb.add_option("--write-fixed", arguments.output,
                                 "write the file repaired for its engine, once it is checked that it answers alike")
                     ->type_name("F");
  verb.add_option("--repairs", arguments.names, "only these repairs, with commas between (default: all)")
      ->type_name("NAMES")
      ->delimiter(',')
      ->needs(output);
}

int write_fixed(const std::string& model, const RepairArguments& arguments, nlohmann::json& json) {
  const auto format = format_of_file(model);
  if (!format) return report(format.errors());
  if (*format == FileFormat::tflite) {
    auto bytes = read_file(model);
    if (!bytes) return report(bytes.errors());
    std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    const auto repaired = repair::repair_tflite(std::move(text), model, arguments.names);
    if (!repaired) return report(repaired.errors());
    return tell_and_write(model, arguments.output, *repaired, json, write_text);
  }
  if (*format != FileFormat::onnx) {
    return report({.kind = ErrorKind::unsupported,
                   .where = model,
                   .found = "--write-fixed for a file of another format",
                   .expected = "an ONNX or a TFLite file"});
  }
  auto file = read_onnx_whole(model);
  if (!file) return report(file.errors());
  const auto repaired = repair::repair(std::move(*file), model, arguments.names);
  if (!repaired) return report(repaired.errors());
  return tell_and_write(model, arguments.output, *repaired, json, write_onnx);
}

}  // namespace octavo::cli
