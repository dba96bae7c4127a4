// Compiling, timing and judging variants. Part of analyze/.
#include "analyze/variant_bench.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analyze/explain.h"
#include "api/inside.h"
#include "plan/dataflow.h"
#include "quantize/groups.h"
#include "run/access.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kNever = std::numeric_limits<double>::max();

class GroupsOfSteps {
 public:
  GroupsOfSteps(const Plan& plan, const LayerGroups& groups)
      : plan_(plan), producers_(producers(plan)), readers_(readers(plan)) {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const std::string& node : groups[group]) of_node_[node] = group;
    }
  }

  std::optional<std::size_t> of(std::size_t index) const {
    const PlanStep& step = plan_.steps[index];
    if (type_of(plan_, step) != StepType::conversion) return own(static_cast<std::int64_t>(index));
    const auto maker = own(producers_[static_cast<std::size_t>(step.inputs[0])]);
    const auto& reading = readers_[static_cast<std::size_t>(step.outputs[0])];
    const auto reader = own(reading.empty() ? kNoStep : reading.front());
    const auto& [first, second] = step.op == "dequantize" ? std::pair(reader, maker) : std::pair(maker, reader);
    return first ? first : second;
  }

 private:
  std::optional<std::size_t> own(std::int64_t step) const {
    if (step == kNoStep) return std::nullopt;
    const auto found = of_node_.find(plan_.report_of(static_cast<std::size_t>(step)).name);
    return found == of_node_.end() ? std::nullopt : std::optional(found->second);
  }

  const Plan& plan_;
  const std::vector<std::int32_t> producers_;
  const std::vector<std::vector<std::int32_t>> readers_;
  std::map<std::string, std::size_t> of_node_;
};

// Whole runs and, where steps are asked for, runs with the clock between them, one after the other; of each the fastest
// counts: the one that nothing else disturbed. The first run finds the caches full of another variant's data and is not
// counted.
Status take_turn(VariantRun& variant, double seconds) {
  if (const Status done = variant.session.run(); !done) return done;
  constexpr int kLeastRuns = 3;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = 0; i < kLeastRuns || Clock::now() < end; ++i) {
    const auto start = Clock::now();
    if (const Status done = variant.session.run(); !done) return done;
    variant.run_ms = std::min(variant.run_ms, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (variant.step_ms.empty()) continue;
    const auto note = [&](const v1::StepInfo& step) {
      variant.step_ms[step.index] = std::min(variant.step_ms[step.index], static_cast<double>(step.elapsed_ns) * 1e-6);
    };
    variant.session.context().set_step_hook(note, false);
    const Status done = variant.session.run();
    variant.session.context().set_step_hook({});
    if (!done) return done;
  }
  return ok_status();
}

// Each for `seconds` in all.
Status take_turns(const std::vector<VariantRun*>& variants, double seconds) {
  constexpr int kTurns = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (VariantRun* variant : variants) {
      if (const Status done = take_turn(*variant, seconds / kTurns); !done) return done;
    }
  }
  return ok_status();
}

std::vector<float> all_outputs(const Session& session) {
  std::vector<float> values;
  for (const Tensor& output : session.outputs()) {
    const std::vector<float> own = to_floats(output.view());
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

std::int64_t top(const std::vector<float>& outputs, std::int64_t scores) {
  const auto end = outputs.begin() + static_cast<std::ptrdiff_t>(scores);
  return std::max_element(outputs.begin(), end) - outputs.begin();
}

Status run_sample(Session& session, const std::vector<Tensor>& sample) {
  const Status taken = session.take(sample);
  return taken ? session.run() : taken;
}

// On one thread, by the cost model.
VariantTimes predicted(const Plan& plan, const LayerGroups& groups) {
  VariantTimes times;
  std::vector<double> step_ms;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    step_ms.push_back(static_cast<double>(plan.calls_of(i)) * plan.steps[i].predicted_ns * 1e-6);
    times.run_ms += step_ms.back();
  }
  times.group_ms = group_times(plan, groups, step_ms);
  return times;
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

Result<ArrivingModel> arriving_model(const v1::ModelSource& model, const CompileRequest& request) {
  const auto imported = v1::import_for_samples(model, request.options, {.expects_samples = !request.calibrate.empty()});
  if (!imported) return imported.errors();
  ArrivingModel arriving{.is_program = imported->program.has_value(), .groups = {}};
  if (arriving.is_program || !imported->is_quantized) return arriving;
  arriving.groups.emplace();
  for (LayerGroup& group : quantized_groups(imported->graph)) arriving.groups->push_back(std::move(group.nodes));
  return arriving;
}

Result<VariantBench> VariantBench::create(const v1::ModelSource& model, const CompileRequest& request) {
  auto arriving = arriving_model(model, request);
  return arriving ? create(model, request, std::move(*arriving)) : arriving.errors();
}

Result<VariantBench> VariantBench::create(const v1::ModelSource& model, const CompileRequest& request,
                                          ArrivingModel arriving) {
  VariantBench bench(model);
  bench.calibrate_ = request.calibrate;
  bench.request_ = request;
  bench.request_.chooses_precision = false;
  bench.request_.options.batches.resize(1);
  bench.request_.options.planned_shapes.resize(std::min<std::size_t>(request.options.planned_shapes.size(), 1));
  bench.request_.options.observes_all = true;
  bench.request_.options.output_sqnr = 0.0;  // the search judges outputs itself
  // Samples and answers are those of the file's own ends.
  bench.request_.options.pictures.clear();
  bench.request_.options.output_type.reset();
  if (arriving.groups) {
    bench.is_quantized_ = true;
    bench.groups_ = std::move(*arriving.groups);
    return bench;
  }
  if (!request.calibrate.empty()) {
    auto samples = calibration_samples(model, bench.request_);
    if (!samples) return samples.errors();
    bench.request_.examples = std::move(samples->examples);
  }
  const auto quantized = quantize_file(model, bench.request_);
  if (!quantized) return quantized.errors();
  bench.groups_ = quantized->groups();
  bench.request_.options.calibrated = quantized->calibrated();
  bench.request_.calibrate.clear();
  return bench;
}

CompileRequest VariantBench::request_for(const Variant& variant) const {
  CompileRequest request = request_;
  request.options.precision = variant.is_fp32 ? Precision::fp32 : Precision::int8;
  for (const std::size_t group : variant.in_fp32)
    request.options.skip.insert(request.options.skip.end(), groups_[group].begin(), groups_[group].end());
  return request;
}

Result<v1::CompiledModel> VariantBench::compile(const Variant& variant) const {
  auto compiled = open_or_compile(model_, request_for(variant));
  if (!compiled || !v1::Access::of(*compiled).plans.empty()) return compiled;
  return no_size_given(compiled->info());
}

Result<std::string> VariantBench::subject() const {
  const auto compiled = compile(kAllInt8);
  if (!compiled) return compiled.errors();
  const std::span<const std::byte> constants = v1::Access::of(*compiled).constants;
  return fmt::format(
      "network {} {:016x}, {}, {} threads, for {}", std::filesystem::path(model_.name).filename().string(),
      XXH3_64bits(constants.data(), constants.size()), v1::text_of(shapes_of(compiled->info().plans[0].inputs)),
      request_.threads == 0 ? "all" : std::to_string(request_.threads), request_.options.target);
}

Result<VariantRun> VariantBench::run_of(const v1::CompiledModel& compiled) const {
  auto session = Session::create(compiled, {}, request_.threads);
  if (!session) return session.errors();
  if (const Status filled = fill_random(session->inputs()); !filled) return filled.errors();
  return VariantRun{.session = std::move(*session), .run_ms = kNever, .step_ms = {}};
}

Result<std::vector<VariantTimes>> VariantBench::times(const std::vector<Variant>& variants) const {
  std::vector<VariantTimes> times;
  std::vector<VariantRun> runs;
  for (const Variant& variant : variants) {
    const auto compiled = compile(variant);
    if (!compiled) return compiled.errors();
    const Plan& plan = v1::Access::of(*compiled).plans[0];
    if (predicts()) {
      times.push_back(predicted(plan, groups_));
      continue;
    }
    auto run = run_of(*compiled);
    if (!run) return run.errors();
    run->step_ms.assign(plan.steps.size(), kNever);
    runs.push_back(std::move(*run));
  }
  std::vector<VariantRun*> turns;
  for (VariantRun& run : runs) turns.push_back(&run);
  if (const Status done = take_turns(turns, request_.seconds); !done) return done.errors();
  for (VariantRun& run : runs)
    times.push_back(
        {run.run_ms, group_times(v1::Access::of(run.session.context()).context.plan(), groups_, run.step_ms)});
  return times;
}

Status VariantBench::open_samples_to_judge(const std::string& images, const std::string& labels,
                                           const Progress& progress) {
  if (is_quantized_) {
    return Error{.kind = ErrorKind::usage,
                 .where = model_.name,
                 .found = "a model that is quantized already",
                 .expected = "an fp32 model, whose answers others are compared with"};
  }
  const auto inputs = model_inputs(model_, request_);
  if (!inputs) return inputs.errors();
  request_.options.planned_shapes = {shapes_of(*inputs)};
  if (images.empty()) {
    auto samples = open_samples(calibrate_, *inputs, {.preprocess = request_.preprocess, .limit = request_.samples});
    if (!samples) return samples.errors();
    source_ = std::move(*samples);
  } else {
    auto labelled = open_labelled(images, labels, *inputs, {.preprocess = request_.preprocess});
    if (!labelled) return labelled.errors();
    source_ = std::move(labelled->samples);
    labels_ = std::move(labelled->labels);
  }
  const auto compiled = compile(kAllFp32);
  if (!compiled) return compiled.errors();
  auto run = run_of(*compiled);
  if (!run) return run.errors();
  fp32_ = std::make_shared<VariantRun>(std::move(*run));
  for (std::int64_t i = 0; i < source_->size(); ++i) {
    const auto inputs_of_sample = sample(i);
    if (!inputs_of_sample) return inputs_of_sample.errors();
    if (const Status done = run_sample(fp32_->session, *inputs_of_sample); !done) return done;
    references_.push_back(all_outputs(fp32_->session));
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(source_->size()));
  }
  if (const Status done = time_runs({fp32_.get()}, request_.seconds); !done) return done;
  auto facts = judge_answers(fp32_->session);
  if (!facts) return facts.errors();
  in_fp32_ = *facts;
  in_fp32_.ms = fp32_->run_ms;
  return ok_status();
}

// At the planned shapes, whatever those of the last sample were.
Status VariantBench::time_runs(const std::vector<VariantRun*>& variants, double seconds) const {
  for (VariantRun* variant : variants) {
    std::vector<Shape> planned;
    for (const v1::TensorInfo& input : variant->session.plan().inputs)
      planned.emplace_back(request_.options.planned_shapes.front().at(input.name));
    if (const Status resized = variant->session.resize(planned); !resized) return resized;
  }
  return take_turns(variants, seconds);
}

Result<std::vector<Tensor>> VariantBench::sample(std::int64_t index) {
  constexpr std::int64_t kKeptBytes = std::int64_t{1} << 28;
  const auto at = static_cast<std::size_t>(index);
  if (at < kept_.size()) return kept_[at];
  auto read = source_->sample(index);
  if (!read) return read;
  for (const Tensor& tensor : *read) kept_bytes_ += static_cast<std::int64_t>(tensor.bytes());
  if (at == kept_.size() && kept_bytes_ <= kKeptBytes) kept_.push_back(*read);
  return read;
}

Result<VariantFacts> VariantBench::judge_answers(Session& session) {
  VariantFacts facts;
  double signal = 0.0, errors = 0.0;
  for (std::int64_t i = 0; i < samples(); ++i) {
    const auto inputs = sample(i);
    if (!inputs) return inputs.errors();
    if (const Status done = run_sample(session, *inputs); !done) return done.errors();
    const std::int64_t scores = session.outputs().empty() ? 0 : session.outputs()[0].elements();
    const std::vector<float>& wanted = references_[static_cast<std::size_t>(i)];
    const std::vector<float> found = all_outputs(session);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const double error = static_cast<double>(found[k]) - wanted[k];
      signal += static_cast<double>(wanted[k]) * wanted[k];
      errors += error * error;
    }
    const std::int64_t answer = top(found, scores);
    facts.agreeing += answer == top(wanted, scores) ? 1 : 0;
    if (has_labels()) {
      const std::int64_t offset = scores == 1001 && *std::max_element(labels_.begin(), labels_.end()) < 1000 ? 1 : 0;
      facts.right += answer == labels_[static_cast<std::size_t>(i)] + offset ? 1 : 0;
    }
  }
  facts.noise = signal > 0.0 ? errors / signal : errors > 0.0 ? std::numeric_limits<double>::infinity() : 0.0;
  return facts;
}

// In units of the fp32 model's time, which takes turns with it; of two measurements the worse: a variant must not be
// chosen because fp32 was disturbed once.
Result<VariantFacts> VariantBench::judge(const Variant& variant) {
  const auto compiled = compile(variant);
  if (!compiled) return compiled.errors();
  auto run = run_of(*compiled);
  if (!run) return run.errors();
  auto facts = judge_answers(run->session);
  if (!facts) return facts;
  for (int measurement = 0; measurement < 2; ++measurement) {
    run->run_ms = fp32_->run_ms = kNever;
    if (const Status done = time_runs({&*run, fp32_.get()}, request_.seconds / 4); !done) return done.errors();
    facts->ms = std::max(facts->ms, run->run_ms / std::max(fp32_->run_ms, 1e-9) * in_fp32_.ms);
  }
  return facts;
}

}  // namespace octavo
