// Compiling and timing forms of a network. Part of analyze/.
#include "analyze/form_lab.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analyze/explain.h"
#include "artifact/artifact.h"
#include "import/import.h"
#include "plan/plan.h"
#include "quantize/groups.h"
#include "run/model.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

class GroupsOfSteps {
 public:
  GroupsOfSteps(const Plan& plan, const LayerGroups& groups) : plan_(plan) {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const std::string& node : groups[group]) of_node_[node] = group;
    }
  }

  std::optional<std::size_t> of(std::size_t index) const {
    const PlanStep& step = plan_.steps[index];
    if (type_of(step) != StepType::conversion) return own(step);
    const auto maker = maker_of(index), reader = reader_of(index);
    const auto& [first, second] = step.op == "dequantize" ? std::pair(reader, maker) : std::pair(maker, reader);
    return first ? first : second;
  }

 private:
  std::optional<std::size_t> own(const PlanStep& step) const {
    const auto found = of_node_.find(step.name);
    return found == of_node_.end() ? std::nullopt : std::optional(found->second);
  }

  static bool holds(const std::vector<PlanOperand>& operands, const PlanOperand& tensor) {
    return std::any_of(operands.begin(), operands.end(), [&](const PlanOperand& operand) {
      const bool is_in_arena = operand.place == Place::arena || operand.place == Place::image_arena;
      return is_in_arena && operand.place == tensor.place && operand.offset == tensor.offset;
    });
  }

  // Buffers are used again: what a step reads was made by the last one before it that wrote there.
  std::optional<std::size_t> maker_of(std::size_t index) const {
    const PlanOperand& tensor = plan_.steps[index].inputs[0];
    for (std::size_t i = index; i-- > 0;) {
      if (holds(plan_.steps[i].outputs, tensor)) return own(plan_.steps[i]);
    }
    return std::nullopt;
  }

  std::optional<std::size_t> reader_of(std::size_t index) const {
    const PlanOperand& tensor = plan_.steps[index].outputs[0];
    for (std::size_t i = index + 1; i < plan_.steps.size(); ++i) {
      if (holds(plan_.steps[i].inputs, tensor)) return own(plan_.steps[i]);
      if (holds(plan_.steps[i].outputs, tensor)) return std::nullopt;
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::map<std::string, std::size_t> of_node_;
};

// A form that takes its turns.
struct Runner {
  Session session;
  double run_ms = std::numeric_limits<double>::max();
  std::vector<double> step_ms;
};

Result<Runner> runner_of(const v1::CompiledModel& compiled, int threads) {
  auto session = Session::create(compiled, std::nullopt, std::nullopt, threads);
  if (!session) return session.errors();
  fill_random(session->inputs());
  const std::size_t steps = session->context().internal().plan().steps.size();
  return Runner{.session = std::move(*session),
                .step_ms = std::vector<double>(steps, std::numeric_limits<double>::max())};
}

// Whole runs and runs with the clock between their steps, one after the other; of each the fastest counts: the one that
// nothing else disturbed. The first run finds the caches full of another form's data and is not counted.
Status take_turn(Runner& runner, double seconds) {
  if (const Status done = runner.session.run(); !done) return done;
  constexpr int kLeastRuns = 3;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = 0; i < kLeastRuns || Clock::now() < end; ++i) {
    const auto start = Clock::now();
    if (const Status done = runner.session.run(); !done) return done;
    runner.run_ms = std::min(runner.run_ms, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    const auto note = [&](const v1::StepInfo& step) {
      runner.step_ms[step.index] = std::min(runner.step_ms[step.index], static_cast<double>(step.elapsed_ns) * 1e-6);
    };
    runner.session.context().set_step_hook(note, false);
    const Status done = runner.session.run();
    runner.session.context().set_step_hook({});
    if (!done) return done;
  }
  return ok_status();
}

// On one thread, by the cost model.
FormTimes predicted(const Plan& plan, const LayerGroups& groups) {
  FormTimes times;
  std::vector<double> step_ms;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    step_ms.push_back(static_cast<double>(plan.calls_of(i)) * plan.steps[i].predicted_ns * 1e-6);
    times.run_ms += step_ms.back();
  }
  times.group_ms = group_times(plan, groups, step_ms);
  return times;
}

// Groups of a file that arrives quantized; nothing of another one.
Result<std::optional<LayerGroups>> arriving_groups(const std::string& model, const CompileRequest& request) {
  ImportOptions options{.batch = 1, .dequantizes_dynamic = !request.calibrate.empty() || request.options.global_scale};
  for (const auto& [name, dims] : request.options.shapes) options.shapes.emplace(name, Shape(dims));
  const auto imported = import_model(model, options);
  if (!imported) return imported.errors();
  if (!imported->is_quantized) return std::optional<LayerGroups>();
  LayerGroups groups;
  for (LayerGroup& group : quantized_groups(imported->graph)) groups.push_back(std::move(group.nodes));
  return std::optional(std::move(groups));
}

}  // namespace

std::vector<double> group_times(const Plan& plan, const LayerGroups& groups, std::span<const double> step_ms) {
  const GroupsOfSteps owners(plan, groups);
  std::vector<double> times(groups.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (const auto group = owners.of(i)) times[*group] += step_ms[i];
  }
  return times;
}

Result<FormLab> FormLab::create(const std::string& model, const CompileRequest& request) {
  FormLab lab;
  lab.model_ = model;
  lab.request_ = request;
  lab.request_.chooses_precision = false;
  lab.request_.options.batches.resize(1);
  lab.request_.options.observes_all = true;
  auto arriving = arriving_groups(model, request);
  if (!arriving) return arriving.errors();
  if (*arriving) {
    lab.groups_ = std::move(**arriving);
    return lab;
  }
  const auto quantized = quantize_file(model, lab.request_);
  if (!quantized) return quantized.errors();
  lab.groups_ = quantized->groups();
  lab.request_.options.calibrated = quantized->calibrated();
  lab.request_.calibrate.clear();
  return lab;
}

CompileRequest FormLab::request_for(const NetworkForm& form) const {
  CompileRequest request = request_;
  request.options.precision = form.is_fp32 ? Precision::fp32 : Precision::int8;
  for (const std::size_t group : form.in_float)
    request.options.skip.insert(request.options.skip.end(), groups_[group].begin(), groups_[group].end());
  return request;
}

Result<std::uint64_t> FormLab::checksum() const {
  const auto compiled = compile(kAllInt8);
  if (!compiled) return compiled.errors();
  const std::span<const std::byte> constants = compiled->internal().constants;
  return XXH3_64bits(constants.data(), constants.size());
}

Result<v1::CompiledModel> FormLab::compile(const NetworkForm& form) const {
  return open_or_compile(model_, request_for(form));
}

Result<std::vector<FormTimes>> FormLab::measure(const std::vector<NetworkForm>& forms) const {
  std::vector<FormTimes> times;
  std::vector<Runner> runners;
  for (const NetworkForm& form : forms) {
    const auto compiled = compile(form);
    if (!compiled) return compiled.errors();
    if (predicts()) {
      times.push_back(predicted(compiled->internal().plans[0], groups_));
      continue;
    }
    auto runner = runner_of(*compiled, request_.threads);
    if (!runner) return runner.errors();
    runners.push_back(std::move(*runner));
  }
  constexpr int kTurns = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Runner& runner : runners) {
      if (const Status done = take_turn(runner, request_.seconds / kTurns); !done) return done.errors();
    }
  }
  for (Runner& runner : runners) {
    times.push_back({runner.run_ms, group_times(runner.session.context().internal().plan(), groups_, runner.step_ms)});
  }
  return times;
}

}  // namespace octavo
