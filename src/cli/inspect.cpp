// octavo inspect. Part of cli/.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/bench.h"
#include "analyze/calibrate.h"
#include "analyze/peak_rate.h"
#include "api/inside.h"
#include "base/file.h"
#include "base/machine.h"
#include "cli/common.h"
#include "cli/describe.h"
#include "import/import.h"
#include "kernels/jit/code.h"
#include "planner/machine_file.h"

namespace octavo::cli {
namespace {

struct InspectArguments {
  std::string model;
  bool machine = false;
  bool calibrates = false;
  std::string output;  // a machine file
  std::string json;
};

std::string describe_value(const Value& value) {
  return fmt::format("{}  {}[{}]", value.name, name_of(value.fact.dtype), value.fact.shape.to_string());
}

// Numbers, and what stays open as text.
nlohmann::json value_json(const Value& value) {
  nlohmann::json extents = nlohmann::json::array();
  for (const Dim& dim : value.fact.shape)
    extents.push_back(dim.is_number() ? nlohmann::json(dim.example()) : nlohmann::json(to_string(dim)));
  return {{"name", value.name}, {"dtype", name_of(value.fact.dtype)}, {"shape", std::move(extents)}};
}

Result<Calibration> calibrated() {
  Progress progress("calibrating");
  return calibrate([&](double done) { progress.show(done); });
}

int inspect_machine(const InspectArguments& arguments) {
  const Machine& machine = host_machine();
  const std::string_view encoding =
      machine.isa.has(Isa::avxvnni) && !has_vex_vnni() ? " (avxvnni in its EVEX encoding)" : "";
  fmt::print("{}\ninstructions  {}{}\ncores         {}\ncaches        {} KB L1, {} KB L2, {} KB L3\n", machine.name,
             machine.isa.to_string(), encoding, machine.cores, machine.l1_bytes / 1024, machine.l2_bytes / 1024,
             machine.l3_bytes / 1024);
  nlohmann::json object = machine_json();
  for (const Precision precision : {Precision::int8, Precision::fp32}) {
    const auto peak = peak_macs_per_second(precision);
    if (peak) fmt::print("peak {}     {:.1f} GMAC/s per core, measured\n", name_of(precision), *peak * 1e-9);
    object[fmt::format("peak_{}_gmacs", name_of(precision))] = peak ? nlohmann::json(*peak * 1e-9) : nlohmann::json();
  }
  if (arguments.calibrates) {
    const auto calibration = calibrated();
    if (!calibration) return report(calibration.errors());
    fmt::print("{}", calibration_text(*calibration));
    object["calibration"] = calibration_json(*calibration);
    if (!arguments.output.empty()) {
      if (const Status written = write_text(arguments.output, machine_text(calibration->machine)); !written)
        return report(written.errors());
    }
  }
  return arguments.json.empty() ? 0 : write_json(arguments.json, object);
}

int inspect_compiled(const InspectArguments& arguments) {
  const auto compiled = v1::open(arguments.model);
  if (!compiled) return report(compiled.errors());
  const v1::ModelInfo info = compiled->info();
  fmt::print("{}\n", summary_of(info));
  fmt::print("{}{}", describe_sizes(info), describe_parts(info));
  for (const v1::PlanInfo& plan : info.plans) {
    fmt::print("{}", describe_plan(plan));
    for (const auto& [kernel, count] : plan.kernels) fmt::print("  kernel  {:>4} x {}\n", count, kernel);
  }
  return arguments.json.empty() ? 0 : write_json(arguments.json, info_json(info));
}

// Of the file: what its parts are made of is what they are compiled from.
int inspect_program(const InspectArguments& arguments, const ImportedModel& model) {
  const Program& program = model.program->program;
  fmt::print("{}  {}, {} nodes, {} networks: control flow or shapes depend on data\n", arguments.model, model.dialect,
             model.source_nodes, model.program->networks.size());
  nlohmann::json object = {{"dialect", model.dialect},
                           {"is_quantized", model.is_quantized},
                           {"source_nodes", model.source_nodes},
                           {"networks", model.program->networks.size()}};
  const auto tell = [&](const char* what, const std::vector<std::int32_t>& values) {
    for (const std::int32_t index : values) {
      const ProgramValue& value = program.values[static_cast<std::size_t>(index)];
      fmt::print("  {:<6}  {}  {}[{}]\n", what, value.name, name_of(value.dtype), fmt::join(value.shape, "x"));
      object[fmt::format("{}s", what)].push_back(
          {{"name", value.name}, {"dtype", name_of(value.dtype)}, {"shape", value.shape}});
    }
  };
  tell("input", program.blocks[0].inputs);
  tell("output", program.blocks[0].outputs);
  std::map<std::string, int> operators;
  for (const Graph& graph : model.program->networks) {
    for (const NodeId id : graph.order()) ++operators[std::string(graph.node(id).spec->name)];
  }
  for (const auto& [name, count] : operators) fmt::print("  {:>6} x {}\n", count, name);
  object["operators"] = operators;
  return arguments.json.empty() ? 0 : write_json(arguments.json, object);
}

int inspect_source(const InspectArguments& arguments) {
  const auto model = v1::import_open(arguments.model, {});
  if (!model) return report(model.errors());
  if (model->program) return inspect_program(arguments, *model);
  const Graph& graph = model->graph;
  fmt::print("{}  {}, {} nodes\n", arguments.model, model->dialect, model->source_nodes);
  nlohmann::json object = {
      {"dialect", model->dialect}, {"is_quantized", model->is_quantized}, {"source_nodes", model->source_nodes}};
  for (const ValueId id : graph.inputs()) {
    fmt::print("  input   {}\n", describe_value(graph.value(id)));
    object["inputs"].push_back(value_json(graph.value(id)));
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    Value output = graph.value(graph.outputs()[i]);
    output.name = graph.output_names()[i];
    fmt::print("  output  {}\n", describe_value(output));
    object["outputs"].push_back(value_json(output));
  }
  std::map<std::string, int> operators;
  for (const NodeId id : graph.order()) ++operators[std::string(graph.node(id).spec->name)];
  for (const auto& [name, count] : operators) fmt::print("  {:>6} x {}\n", count, name);
  object["operators"] = operators;
  return arguments.json.empty() ? 0 : write_json(arguments.json, object);
}

int inspect(const InspectArguments& arguments) {
  if (arguments.machine) return inspect_machine(arguments);
  if (arguments.model.empty())
    return report({.kind = ErrorKind::usage,
                   .where = "inspect",
                   .found = "nothing to inspect",
                   .expected = "a MODEL or --machine"});
  return v1::is_compiled(arguments.model) ? inspect_compiled(arguments) : inspect_source(arguments);
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<InspectArguments>();
  CLI::App& verb = *app.add_subcommand("inspect", "show what is in a model file or .octv, or what this machine can do");
  verb.add_option("MODEL", arguments->model, "model file or .octv");
  verb.add_flag("--machine", arguments->machine, "instruction sets, caches and measured peaks of this machine");
  CLI::Option& calibrate = *verb.add_flag("--calibrate", arguments->calibrates,
                                          "measure what predictions take from this machine, and how far off they are")
                                ->needs("--machine");
  verb.add_option("-o,--output", arguments->output, "write the calibrated machine, for --machine of other verbs")
      ->type_name("F")
      ->needs(&calibrate);
  verb.add_option("--json", arguments->json, "write the same as JSON")->type_name("F");
  verb.callback([arguments, &exit_code] { exit_code = inspect(*arguments); });
}

}  // namespace octavo::cli
