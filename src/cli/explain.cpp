// octavo explain. Part of cli/.
#include "analyze/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/explain_program.h"
#include "analyze/table.h"
#include "base/file.h"
#include "cli/common.h"
#include "cli/describe.h"
#include "cli/inputs.h"
#include "cli/options.h"

namespace octavo::cli {
namespace {

struct ExplainArguments {
  std::string model;
  ExplainOptions options;
  std::vector<std::string> inputs;
  std::string json, html, onnx;
  CompileArguments compile;
};

constexpr std::size_t kWorst = 10;

void print_head(const Explanation& e) {
  const Machine& machine = host_machine();
  fmt::print("{}  {}, {} nodes -> {} kernels, {}, batch {}\n", e.model, e.info.dialect, e.info.source_nodes,
             e.steps.size(), name_of(e.plan.precision), e.plan.batch);
  if (e.is_predicted) fmt::print("{}: at best: {}\n", e.machine, to_string(e.peaks));
  else
    fmt::print("{}, {} thread{}: at best, measured: {}\n", machine.name, e.threads, e.threads == 1 ? "" : "s",
               to_string(e.peaks));
  for (const v1::TensorInfo& input : e.plan.inputs) fmt::print("input   {}  {}\n", input.name, describe_tensor(input));
  for (const v1::TensorInfo& output : e.plan.outputs)
    fmt::print("output  {}  {}\n", output.name, describe_tensor(output));
  if (e.plan.steps_by_image > 0)
    fmt::print("kernels below {} run image by image, each thread its own; times, bytes and arithmetic of all images\n",
               e.plan.steps_by_image);
  if (e.is_predicted) {
    fmt::print(
        "nothing was run: times are predicted, {:.3f} ms a run; {:.1f} % of the multiply-accumulates in integers\n\n",
        e.run_ms, 100.0 * e.integer_share_of_macs());
    return;
  }
  fmt::print(
      "{:.3f} ms a run (median of {}), {:.3f} ms the sum of its kernels; {:.1f} % of the multiply-accumulates in "
      "integers\n\n",
      e.run_ms, e.runs, e.steps_ms(), 100.0 * e.integer_share_of_macs());
}

std::string result_of(const ExplainedStep& step) { return step.outputs.empty() ? "" : step.outputs[0].text; }

void print_steps(const Explanation& e) {
  Table table({"#", "#ms", "#share", "type", "kernel", "result", "#GMAC/s", "#peak", "#GB/s", "node"});
  for (const ExplainedStep& s : e.steps) {
    table.add_row({std::to_string(s.index), fmt::format("{:.4f}", s.ms), share_text(s.ms, e.steps_ms()),
                   std::string(name_of(s.type)), s.kernel, result_of(s), rate_text(s), share_of_peak_text(e, s),
                   fmt::format("{:.1f}", s.gbytes()), s.name});
  }
  fmt::print("{}", table.text());
}

struct Total {
  int steps = 0;
  double ms = 0.0;
  std::int64_t macs = 0;
};

void print_totals(const Explanation& e) {
  std::map<std::string, Total> types, kernels;
  for (const ExplainedStep& s : e.steps) {
    for (Total* total : {&types[std::string(name_of(s.type))], &kernels[s.kernel]})
      ++total->steps, total->ms += s.ms, total->macs += s.macs;
  }
  const auto print = [&](const char* what, const std::map<std::string, Total>& totals) {
    std::vector<std::pair<std::string, Total>> sorted(totals.begin(), totals.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
    Table table({"#ms", "#share", "#steps", what, "#GMAC"});
    for (const auto& [name, total] : sorted) {
      table.add_row({fmt::format("{:.4f}", total.ms), share_text(total.ms, e.steps_ms()), std::to_string(total.steps),
                     name, fmt::format("{:.3f}", static_cast<double>(total.macs) * 1e-9)});
    }
    fmt::print("\nby {}\n{}", what, table.text("  "));
  };
  print("type", types);
  print("kernel", kernels);
}

// Slow code that stands in for kernels: what it costs.
void print_references(const Explanation& e) {
  Total all;
  for (const ExplainedStep& s : e.steps) {
    if (s.is_reference) ++all.steps, all.ms += s.ms;
  }
  if (all.steps == 0) return;
  fmt::print("\nscalar reference code, where an operator has no kernel yet: {} steps, {:.4f} ms, {}\n", all.steps,
             all.ms, share_text(all.ms, e.steps_ms()));
  for (const ExplainedStep& s : e.steps) {
    if (s.is_reference) fmt::print("  {:.4f} ms  {} '{}' by {} -> {}\n", s.ms, s.op, s.name, s.kernel, result_of(s));
  }
}

// What a device has no kernel for: what it costs that its host computes it.
void print_host_steps(const Explanation& e) {
  Total all;
  double transfer_ms = 0.0;
  for (const ExplainedStep& s : e.steps) {
    if (s.transfer_ms > 0.0) ++all.steps, all.ms += s.ms, transfer_ms += s.transfer_ms;
  }
  if (all.steps == 0) return;
  fmt::print("\non the host, where the device has no kernel: {} step{}, {:.4f} ms, {}; {:.4f} ms of it copies\n",
             all.steps, all.steps == 1 ? "" : "s", all.ms, share_text(all.ms, e.steps_ms()), transfer_ms);
  for (const ExplainedStep& s : e.steps) {
    if (s.transfer_ms > 0.0)
      fmt::print("  {:.4f} ms, {:.4f} of it copies  {} '{}' by {} -> {}\n", s.ms, s.transfer_ms, s.op, s.name, s.kernel,
                 result_of(s));
  }
}

void print_boundaries(const Explanation& e) {
  fmt::print("\nconversions and float islands\n");
  bool has_any = false;
  for (const ExplainedStep& s : e.steps) {
    if (s.type == StepType::integer || (s.type == StepType::floating && e.plan.precision == Precision::fp32)) continue;
    has_any = true;
    fmt::print("  {:.4f} ms  {} '{}' -> {}{}\n", s.ms, s.op, s.name, result_of(s),
               s.cause.empty() ? "" : ": " + s.cause);
  }
  if (!has_any) fmt::print("  none\n");
  for (const std::string& note : e.plan.notes) fmt::print("  note: {}\n", note);
}

void print_explain_worst(const Explanation& e) {
  fmt::print("\nfarthest from what arithmetic and memory allow\n");
  const auto sorted = e.by_loss();
  for (std::size_t i = 0; i < std::min(sorted.size(), kWorst) && sorted[i]->ms > sorted[i]->bound_ms; ++i) {
    const ExplainedStep& s = *sorted[i];
    fmt::print("  {:.4f} ms lost of {:.4f}, bound by {}: {} '{}' by {} -> {}\n", s.ms - s.bound_ms, s.ms,
               s.is_arithmetic_bound ? "arithmetic" : "memory", s.op, s.name, s.kernel, result_of(s));
  }
}

int write_reports(const ExplainArguments& arguments, const Explanation& e) {
  if (!arguments.html.empty()) {
    if (const Status done = write_text(arguments.html, explanation_html(e)); !done) return report(done.errors());
  }
  if (!arguments.onnx.empty()) {
    if (const Status done = write_text(arguments.onnx, explanation_onnx(e)); !done) return report(done.errors());
  }
  return arguments.json.empty() ? 0 : write_json(arguments.json, explanation_json(e));
}

ExplainOptions options_of(const ExplainArguments& arguments, const CompileRequest& request, Progress& progress) {
  ExplainOptions options = arguments.options;
  options.choice = choice_of(arguments.model, request);
  options.threads = request.threads;
  options.progress = [&progress](double done) { progress.show(done); };
  return options;
}

// What the sizes that came cost, and what left the cache and why.
std::string describe_plans(std::size_t index, const v1::PlanCacheInfo& plans) {
  constexpr double kMegabyte = 1 << 20;
  if (plans.made + plans.followed == 0) return {};
  std::string text = fmt::format(
      "plans: network {}: {} sizes planned, {} more with the kernels of one nearby; {} kept, "
      "{:.1f} MiB of {:.0f}",
      index, plans.made, plans.followed, plans.plans, static_cast<double>(plans.bytes) / kMegabyte,
      static_cast<double>(plans.limit_bytes) / kMegabyte);
  if (plans.lowered > 0)
    text += fmt::format("; the graph lowered anew {} times for sizes at which the file's does not hold", plans.lowered);
  if (plans.dropped > 0)
    text += fmt::format("; {} dropped to stay within that, the least recently used first, {} of them made again",
                        plans.dropped, plans.again);
  return text + "\n";
}

// The first of them, which sum up; one for each node that is kept in float follows.
void print_notes(std::size_t network, const std::vector<std::string>& notes) {
  constexpr std::size_t kMostNotes = 8;
  for (std::size_t i = 0; i < std::min(kMostNotes, notes.size()); ++i)
    fmt::print("note: network {}: {}\n", network, notes[i]);
  if (notes.size() > kMostNotes) fmt::print("note: network {}: {} more (--json)\n", network, notes.size() - kMostNotes);
}

void print_program(const ProgramExplanation& e) {
  constexpr std::size_t kMostSteps = 40;
  fmt::print("{}\n{}{}", summary_of(e.info), describe_sizes(e.info), describe_parts(e.info));
  fmt::print("\n{:.3f} ms a run (median of {}, {} thread{}); {:.3f} ms its kernels, {:.3f} ms what is between them\n\n",
             e.run_ms, e.runs, e.threads, e.threads == 1 ? "" : "s", e.steps_ms(), e.outside_ms);
  Table networks({"#", "#ms", "#share", "#runs", "network"});
  for (std::size_t i = 0; i < e.networks.size(); ++i) {
    const ProgramNetwork& network = e.networks[i];
    networks.add_row({std::to_string(i), fmt::format("{:.4f}", network.ms), share_text(network.ms, e.steps_ms()),
                      fmt::format("{:.4g}", network.runs), network.name});
  }
  Table steps({"#ms", "#share", "#calls", "type", "kernel", "#network", "node"});
  for (std::size_t i = 0; i < std::min(kMostSteps, e.steps.size()); ++i) {
    const ProgramStep& s = e.steps[i];
    steps.add_row({fmt::format("{:.4f}", s.ms), share_text(s.ms, e.steps_ms()), fmt::format("{:.4g}", s.calls),
                   std::string(name_of(s.type)), s.kernel, std::to_string(s.network), s.name});
  }
  fmt::print("{}\n{}", networks.text(), steps.text());
  if (e.steps.size() > kMostSteps) fmt::print("and {} more, shorter ones\n", e.steps.size() - kMostSteps);
  for (std::size_t i = 0; i < e.networks.size(); ++i) fmt::print("{}", describe_plans(i, e.networks[i].plans));
  for (std::size_t i = 0; i < e.info.networks.size(); ++i) {
    for (const v1::PlanInfo& plan : e.info.networks[i].plans) print_notes(i, plan.notes);
  }
}

int explain_parts(const ExplainArguments& arguments, const v1::CompiledModel& compiled, const CompileRequest& request) {
  for (const auto& [option, file] : {std::pair("--html", &arguments.html), std::pair("--onnx", &arguments.onnx)}) {
    if (!file->empty()) return report({needs_one_network(option)});
  }
  const auto e = [&] {
    Progress progress("measuring");
    return explain_program(std::filesystem::path(arguments.model).filename().string(), compiled,
                           options_of(arguments, request, progress));
  }();
  if (!e) return report(e.errors());
  print_program(*e);
  return arguments.json.empty() ? 0 : write_json(arguments.json, explanation_json(*e));
}

int run_explain(ExplainArguments& arguments) {
  auto request = request_for(arguments.compile, {{arguments.model}});
  if (!request) return report(request.errors());
  request->plans_examples = true;
  auto given = read_inputs(arguments.inputs);
  if (!given) return report(given.errors());
  arguments.options.fill = filled_with(std::move(*given));
  warn_of_random(*request);
  const auto compiled = open_or_compile(arguments.model, *request);
  if (!compiled) return report(compiled.errors());
  if (!compiled->info().parts.empty()) return explain_parts(arguments, *compiled, *request);
  const auto e = [&] {
    Progress progress("measuring");
    return explain(std::filesystem::path(arguments.model).filename().string(), *compiled,
                   options_of(arguments, *request, progress));
  }();
  if (!e) return report(e.errors());
  print_head(*e);
  print_steps(*e);
  print_totals(*e);
  print_references(*e);
  print_host_steps(*e);
  print_boundaries(*e);
  print_explain_worst(*e);
  return write_reports(arguments, *e);
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& verb = *app.add_subcommand(
      "explain", "where the time goes, kernel by kernel: shares of the machine's peaks, conversions, refusals");
  verb.add_option("MODEL", arguments->model, "model file or .octv")->required();
  verb.add_option("--seconds", arguments->options.seconds, "time to measure")
      ->check(positive_number())
      ->capture_default_str();
  add_timed_inputs(verb, arguments->inputs);
  verb.add_option("--json", arguments->json, "write everything as JSON")->type_name("F");
  verb.add_option("--html", arguments->html, "write a page with roofline and timeline")->type_name("F");
  verb.add_option("--onnx", arguments->onnx, "write the kernels as an annotated graph for viewers of ONNX")
      ->type_name("F");
  add_run_options(verb, arguments->compile);
  verb.callback([arguments, &exit_code] { exit_code = run_explain(*arguments); });
}

}  // namespace octavo::cli
