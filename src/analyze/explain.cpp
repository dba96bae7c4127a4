// Measures a plan step by step and sets each time beside what the machine could do. Part of analyze/.
#include "analyze/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "analyze/bench.h"
#include "cuda/host_step.h"
#include "kernels/reference/reference.h"
#include "kernels/schedule.h"
#include "plan/dataflow.h"
#include "planner/choice_list.h"
#include "run/access.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

bool is_conversion(std::string_view op) {
  return op == "quantize" || op == "dequantize" || op == "dynamic_quantize" || op == "row_quantize";
}

bool is_activation(const PlanValue& value) { return value.place != Place::constant && value.place != Place::packed; }

std::string name_of(const Plan& plan, ValueIndex root) {
  const PlanValue& value = plan.value(root);
  if (value.place == Place::input) return plan.inputs[value.offset].name;
  if (value.place == Place::output) return plan.outputs[value.offset].name;
  return std::string(plan.name_of_value(root));
}

// A tensor of all images that a step is called for.
ExplainedTensor explained(std::string name, const PlanValue& value, std::int64_t images) {
  return {std::move(name), std::string(name_of(value.dtype)) + "[" + value.shape_of(images).to_string() + "]",
          images * static_cast<std::int64_t>(value.bytes())};
}

std::string cause_of(const Plan& plan, std::size_t index, StepType type) {
  if (plan.precision == Precision::fp32) return {};
  if (type == StepType::floating) {
    const auto& islands = plan.report.islands;
    const auto is_it = [&](const PlanIsland& island) { return island.node == plan.report_of(index).name; };
    const auto island = std::find_if(islands.begin(), islands.end(), is_it);
    return island == islands.end() ? "" : "(" + island->op + "): " + island->reason;
  }
  if (type != StepType::conversion) return {};
  const PlanStep& step = plan.steps[index];
  for (const ValueIndex input : step.inputs) {
    if (input != kNoValue && plan.value(input).place == Place::input)
      return "the model's input '" + plan.inputs[plan.value(input).offset].name + "' is " +
             std::string(name_of(plan.value(input).dtype));
  }
  for (const ValueIndex output : step.outputs) {
    if (plan.value(output).place == Place::output)
      return "the model's output '" + plan.outputs[plan.value(output).offset].name + "' is " +
             std::string(name_of(plan.value(output).dtype));
  }
  return step.op == "dequantize" ? "a float kernel reads it" : "a float kernel computes it";
}

ExplainedStep described(const Plan& plan, const std::vector<ValueIndex>& roots, std::size_t index) {
  const PlanStep& step = plan.steps[index];
  const StepReport& report = plan.report_of(index);
  const KernelChoice& choice = *find_choice(step.kernel);
  const StepType type = type_of(plan, step);
  const std::int64_t calls = plan.calls_of(index);
  ExplainedStep e{.index = index,
                  .name = report.name,
                  .op = step.op,
                  .kernel = step.kernel,
                  .type = type,
                  .needs = choice.code.needs,
                  .words_per_mac = choice.words_per_mac,
                  .is_reference = is_reference_code(step.kernel),
                  .calls = calls,
                  .macs = report.macs,
                  .predicted_ms = static_cast<double>(calls) * step.predicted_ns * 1e-6,
                  .cause = cause_of(plan, index, type),
                  .refusals = report.refusals};
  const auto tensor = [&](ValueIndex value) {
    return explained(name_of(plan, roots[static_cast<std::size_t>(value)]), plan.value(value), calls);
  };
  for (const ValueIndex input : step.inputs) {
    if (input == kNoValue) continue;
    if (is_activation(plan.value(input))) e.inputs.push_back(tensor(input)), e.bytes_in += e.inputs.back().bytes;
    else if (plan.value(input).place == Place::constant)
      e.bytes_constant += static_cast<std::int64_t>(plan.value(input).bytes());
  }
  for (const ValueIndex packed : step.packed) e.bytes_constant += static_cast<std::int64_t>(plan.value(packed).bytes());
  for (const ValueIndex output : step.outputs)
    e.outputs.push_back(tensor(output)), e.bytes_out += e.outputs.back().bytes;
  if (is_device(plan.machine) && !is_of_device(e.needs))
    e.transfer_ms = cuda::transfer_ns(static_cast<double>(e.bytes_in), static_cast<double>(e.bytes_out)) * 1e-6;
  return e;
}

void set_bound(ExplainedStep& step, double peak_gmacs, double memory_gbytes) {
  const double arithmetic = peak_gmacs > 0.0 ? static_cast<double>(step.macs) / peak_gmacs * 1e-6 : 0.0;
  const auto bytes = static_cast<double>(step.bytes());
  const double memory = memory_gbytes > 0.0 ? bytes / memory_gbytes * 1e-6 : 0.0;
  step.bound_ms = std::max(arithmetic, memory);
  step.is_arithmetic_bound = arithmetic > memory;
}

// Medians of whole runs, then of every step with the clock read between steps.
Status measure(Session& session, const ExplainOptions& options, Explanation& e) {
  if (const Status done = session.run(); !done) return done;
  auto whole = time_runs(session, options.seconds / 2);
  if (!whole) return whole.errors();
  if (options.progress) options.progress(0.5);
  std::vector<std::vector<std::int64_t>> each(e.steps.size());
  session.context().set_step_hook([&](const v1::StepInfo& step) { each[step.index].push_back(step.elapsed_ns); },
                                  false);
  const auto stepped = time_runs(session, options.seconds / 2);
  session.context().set_step_hook({});
  if (!stepped) return stepped.errors();
  if (options.progress) options.progress(1.0);
  e.run_ms = median_ms(*whole);
  e.runs = std::ssize(*whole);
  for (std::size_t i = 0; i < each.size(); ++i) {
    e.steps[i].least_ms = static_cast<double>(*std::min_element(each[i].begin(), each[i].end())) * 1e-6;
    e.steps[i].ms = median_ms(each[i]);
  }
  return ok_status();
}

}  // namespace

StepType type_of(const Plan& plan, const PlanStep& step) {
  if (is_conversion(step.op)) return StepType::conversion;
  if (step.op.starts_with("quantized_") || step.op == "hybrid_conv")
    return StepType::integer;  // its result may be f32: the sums are of integers
  const auto is_float_activation = [&](ValueIndex index) {
    return index != kNoValue && is_activation(plan.value(index)) && is_float(plan.value(index).dtype);
  };
  const bool touches_floats = std::any_of(step.inputs.begin(), step.inputs.end(), is_float_activation) ||
                              std::any_of(step.outputs.begin(), step.outputs.end(), is_float_activation);
  return touches_floats ? StepType::floating : StepType::integer;
}

std::string_view name_of(StepType type) {
  constexpr std::string_view names[] = {"integer", "float", "conversion"};
  return names[static_cast<int>(type)];
}

double ExplainedStep::intensity() const {
  return bytes() > 0 ? static_cast<double>(macs) / static_cast<double>(bytes()) : 0.0;
}

double Explanation::steps_ms() const {
  double sum = 0.0;
  for (const ExplainedStep& step : steps) sum += step.ms;
  return sum;
}

double Explanation::peak_gmacs(const ExplainedStep& step) const {
  if (step.type != StepType::integer) return peaks.fma_gmacs;
  if (step.words_per_mac > 0.0) return peaks.int16_gmacs_of(step.needs) / step.words_per_mac;
  return peaks.int8_gmacs_of(step.needs);
}

std::string share_text(double ms, double all_ms) {
  return fmt::format("{:.1f} %", all_ms > 0.0 ? 100.0 * ms / all_ms : 0.0);
}

std::string rate_text(const ExplainedStep& step) { return step.macs > 0 ? fmt::format("{:.1f}", step.gmacs()) : ""; }

std::string share_of_peak_text(const Explanation& explanation, const ExplainedStep& step) {
  const double peak = explanation.peak_gmacs(step);
  return step.macs > 0 && peak > 0.0 ? fmt::format("{:.0f} %", 100.0 * step.gmacs() / peak) : "";
}

double Explanation::integer_share_of_macs() const {
  std::int64_t integer = 0, all = 0;
  for (const ExplainedStep& step : steps) {
    all += step.macs;
    if (step.type == StepType::integer) integer += step.macs;
  }
  return all > 0 ? static_cast<double>(integer) / static_cast<double>(all) : 1.0;
}

double Explanation::integer_share_of_bytes() const {
  std::int64_t integer = 0, all = 0;
  for (const ExplainedStep& step : steps) {
    all += step.bytes();
    if (step.type == StepType::integer) integer += step.bytes();
  }
  return all > 0 ? static_cast<double>(integer) / static_cast<double>(all) : 1.0;
}

std::vector<const ExplainedStep*> Explanation::by_loss() const {
  std::vector<const ExplainedStep*> sorted;
  for (const ExplainedStep& step : steps) sorted.push_back(&step);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->ms - a->bound_ms > b->ms - b->bound_ms; });
  return sorted;
}

Result<std::vector<std::int64_t>> time_runs(Session& session, double seconds) {
  constexpr std::size_t kLeastRuns = 3, kMostRuns = 10000;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::int64_t> times;
  while (times.size() < kMostRuns && (times.size() < kLeastRuns || Clock::now() < end)) {
    const auto start = Clock::now();
    if (Status done = session.run(); !done) return done.errors();
    times.push_back((Clock::now() - start).count());
  }
  return times;
}

double median_ms(std::vector<std::int64_t>& ns) {
  const auto middle = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2);
  std::nth_element(ns.begin(), middle, ns.end());
  return static_cast<double>(*middle) * 1e-6;
}

namespace {

bool is_for_others(const Plan& plan) { return !host_machine().isa.contains(plan.needs); }

std::string explained_machine(const Machine& machine) {
  if (is_device(machine)) return fmt::format("{}, {} multiprocessors", machine.name, machine.cores);
  return fmt::format("{}, one thread at {:.4g} GHz", machine.name, machine.speeds.gigahertz);
}

// A plan for another machine or a device, as the planner saw it.
Result<Explanation> predicted(const std::string& name, const v1::CompiledModel& compiled, const RunChoice& choice) {
  Explanation e{.model = name, .info = compiled.info(), .is_predicted = true};
  const auto index = plan_of_shapes(e.info, choice);
  if (!index) return index.errors();
  e.plan = e.info.plans[*index];
  const Plan& plan = v1::Access::of(compiled).plans[*index];
  e.machine = explained_machine(plan.machine);
  e.peaks = known_peaks(plan.machine);
  const std::vector<ValueIndex> value_roots = roots(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    ExplainedStep step = described(plan, value_roots, i);
    step.ms = step.least_ms = step.predicted_ms;
    set_bound(step, e.peak_gmacs(step), e.peaks.read_gbytes);
    e.steps.push_back(std::move(step));
  }
  e.run_ms = e.steps_ms();
  return e;
}

}  // namespace

Result<Explanation> explain(const std::string& name, const v1::CompiledModel& compiled, const ExplainOptions& options) {
  const std::vector<Plan>& plans = v1::Access::of(compiled).plans;
  if (std::any_of(plans.begin(), plans.end(), is_for_others)) return predicted(name, compiled, options.choice);
  auto session = Session::create(compiled, options.choice, options.threads);
  if (!session) return session.errors();
  Explanation e{.model = name, .info = compiled.info(), .plan = session->plan(), .threads = session->threads()};
  auto peaks = measure_peaks(e.threads);
  if (!peaks) return peaks.errors();
  e.peaks = *peaks;
  if (const Status filled = options.fill(*session); !filled) return filled.errors();
  const Context& context = v1::Access::of(session->context()).context;
  const Plan& plan = context.plan();
  const std::vector<ValueIndex> value_roots = roots(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    e.steps.push_back(described(plan, value_roots, i));
    e.steps.back().schedule = schedule_text(find_choice(plan.steps[i].kernel)->code, context.schedule_of(i));
    set_bound(e.steps.back(), e.peak_gmacs(e.steps.back()), e.peaks.read_gbytes);
  }
  if (const Status done = measure(*session, options, e); !done) return done.errors();
  return e;
}

nlohmann::json explanation_json(const Explanation& e) {
  const auto tensors = [](const std::vector<ExplainedTensor>& list) {
    nlohmann::json array = nlohmann::json::array();
    for (const ExplainedTensor& tensor : list)
      array.push_back({{"name", tensor.name}, {"type", tensor.text}, {"bytes", tensor.bytes}});
    return array;
  };
  nlohmann::json steps = nlohmann::json::array();
  for (const ExplainedStep& s : e.steps) {
    const double peak = e.peak_gmacs(s);
    steps.push_back(
        {{"index", s.index},
         {"name", s.name},
         {"op", s.op},
         {"kernel", s.kernel},
         {"schedule", s.schedule},
         {"is_reference", s.is_reference},
         {"type", name_of(s.type)},
         {"inputs", tensors(s.inputs)},
         {"outputs", tensors(s.outputs)},
         {"bytes_in", s.bytes_in},
         {"bytes_out", s.bytes_out},
         {"bytes_constant", s.bytes_constant},
         {"calls", s.calls},
         {"macs", s.macs},
         {"transfer_ms", s.transfer_ms},
         {"ms",
          {{"min", s.least_ms}, {"median", s.ms}, {"predicted_one_thread", s.predicted_ms}, {"bound", s.bound_ms}}},
         {"bound_by", s.is_arithmetic_bound ? "arithmetic" : "memory"},
         {"gmacs", s.gmacs()},
         {"peak_gmacs", peak},
         {"share_of_peak", peak > 0.0 ? s.gmacs() / peak : 0.0},
         {"gbytes", s.gbytes()},
         {"cause", s.cause},
         {"refusals", s.refusals}});
  }
  return {{"machine", machine_json()},
          {"model", e.model},
          {"dialect", e.info.dialect},
          {"source_nodes", e.info.source_nodes},
          {"precision", name_of(e.plan.precision)},
          {"batch", e.plan.batch},
          {"shapes", shapes_of(e.plan.inputs)},
          {"threads", e.threads},
          {"is_predicted", e.is_predicted},
          {"runs", e.runs},
          {"run_ms", e.run_ms},
          {"peaks",
           {{"int8_gmacs", e.peaks.int8_gmacs()},
            {"amx_gmacs", e.peaks.amx_gmacs},
            {"tensor_gmacs", e.peaks.tensor_gmacs},
            {"vpdpbusd_gmacs", e.peaks.dot_gmacs},
            {"vpmaddwd_gmacs", e.peaks.madd_gmacs},
            {"vpdpwssd_gmacs", e.peaks.words_gmacs},
            {"fp32_gmacs", e.peaks.fma_gmacs},
            {"memory_gbytes", e.peaks.read_gbytes}}},
          {"integer_share_of_macs", e.integer_share_of_macs()},
          {"integer_share_of_bytes", e.integer_share_of_bytes()},
          {"islands", e.plan.islands},
          {"notes", e.plan.notes},
          {"steps", std::move(steps)}};
}

}  // namespace octavo
