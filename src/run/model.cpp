// Loading: CompiledModel -> Model. Part of run/.
#include "run/model.h"

#include <algorithm>

#include "base/host.h"
#include "run/context_memory.h"
#include "run/device.h"
#include "run/open_plans.h"
#include "run/prepare.h"

namespace octavo {
namespace {

std::string words_for(const Plan& plan) {
  return std::string(name_of(plan.precision)) + " batch " + std::to_string(plan.batch);
}

std::string words_for(IsaSet needs, const Machine& machine) {
  return "for " + machine.name + ", which needs " + needs.to_string();
}

// Plans, one after the other, and what plans are made for in a run.
std::string contents(const CompiledModel& model) {
  std::string text;
  for (const Plan& plan : model.plans)
    text += (text.empty() ? "" : "; ") + words_for(plan) + " " + words_for(plan.needs, plan.machine);
  if (!model.network) return text;
  const Machine& machine = model.network->machine;
  return text + (text.empty() ? "" : "; ") + "plans of open sizes " + words_for(machine.isa, machine);
}

Error cannot_run(const CompiledModel& model, ErrorKind kind, std::string found) {
  return Error{.kind = kind,
               .where = model.source,
               .found = std::move(found),
               .expected = "instructions of this machine: " + host_machine().isa.to_string(),
               .hint = "Compile the model again with --target host"};
}

// Errors of a file.
Errors in(const std::string& source, Errors errors) {
  for (Error& error : errors) error.where = source + (error.where.empty() ? "" : ", " + error.where);
  return errors;
}

// Of another processor altogether: usage, with all that the file holds. Of one that has more: resource. Opens the
// device of plans for one.
Status check_instructions(const CompiledModel& model, int number, std::shared_ptr<const void>& device) {
  IsaSet has = host_machine().isa;
  if (kMayHaveDevices && (std::any_of(model.plans.begin(), model.plans.end(), is_for_device) ||
                          (model.network && is_device(model.network->machine)))) {
    auto opened = open_device(number);
    if (!opened) return in(model.source, opened.errors());
    device = std::move(*opened);
    has.add(Isa::cuda);
    has.add(Isa::tf32);  // placing a plan opens the libraries that it names
  }
  const bool is_foreign = std::any_of(model.plans.begin(), model.plans.end(),
                                      [&](const Plan& plan) { return are_of_two_processors(plan.needs, has); }) ||
                          (model.network && are_of_two_processors(model.network->machine.isa, has));
  if (is_foreign)
    return cannot_run(model, ErrorKind::usage, "a file for another processor, which holds: " + contents(model));
  for (std::size_t i = 0; i < model.plans.size(); ++i) {
    const Plan& plan = model.plans[i];
    if (has.contains(plan.needs)) continue;
    IsaSet missing = plan.needs;
    missing.bits &= ~has.bits;
    return cannot_run(model, ErrorKind::resource,
                      "plan " + std::to_string(i) + ", " + words_for(plan) + " " + words_for(missing, plan.machine));
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Model>> load_model(CompiledModel compiled, const LoadOptions& options) {
  auto model = std::make_shared<Model>();
  LoadOptions resolved = options;
  if (resolved.threads <= 0) resolved.threads = host_machine().cores;
  model->threads_ = resolved.threads;
  if (resolved.context_bytes == 0 || resolved.context_bytes > kMaxContextBytes)
    resolved.context_bytes = kMaxContextBytes;
  model->most_context_bytes_ = resolved.context_bytes;
  std::shared_ptr<const void> device;  // until the plans hold it
  if (Status status = check_instructions(compiled, resolved.device, device); !status) return status.errors();
  std::vector<std::shared_ptr<PreparedPlan>> made;
  for (std::size_t i = 0; i < compiled.plans.size(); ++i) {
    const Plan& plan = compiled.plans[i];
    auto steps = prepare_plan(plan, FileConstants(compiled.constants), resolved);
    if (!steps) {
      Errors errors = std::move(steps).errors();
      for (Error& error : errors)
        error.where = compiled.source + ", plan " + std::to_string(i) + (error.where.empty() ? "" : ", " + error.where);
      return errors;
    }
    auto prepared = std::make_shared<PreparedPlan>();
    prepared->steps = std::move(*steps);
    model->prepared_.push_back(prepared);
    made.push_back(std::move(prepared));
  }
  model->compiled_ = std::move(compiled);
  for (std::size_t i = 0; i < made.size(); ++i) made[i]->plan = &model->compiled_.plans[i];
  model->constants_ = std::make_unique<ConstantStore>(model->compiled_.constants, model->compiled_.plans);
  for (const std::shared_ptr<PreparedPlan>& plan : made) {
    if (!is_for_device(*plan->plan)) continue;
    if (Status status = place_on_device(*plan, *model->constants_, resolved.device); !status)
      return in(model->compiled_.source, status.errors());
  }
  if (!model->compiled_.network) return std::shared_ptr<const Model>(std::move(model));
  model->constants_->packed().restore(model->compiled_.packings);
  auto open = OpenPlans::create(model->compiled_, *model->constants_, model->prepared_, resolved);
  if (!open) return in(model->compiled_.source, std::move(open).errors());
  model->open_ = std::move(*open);
  return std::shared_ptr<const Model>(std::move(model));
}

Model::Model() = default;
Model::~Model() = default;

const Sizes* Model::sizes() const { return open_ == nullptr ? nullptr : &open_->sizes(); }

const ConstantSource& Model::constants() const { return *constants_; }

Result<std::shared_ptr<const PreparedPlan>> Model::plan_at(std::size_t index) const {
  if (index < prepared_.size()) return prepared_[index];
  return Error{.kind = ErrorKind::usage,
               .where = "plan",
               .found = std::to_string(index),
               .expected = "an index below " + std::to_string(prepared_.size())};
}

Result<std::shared_ptr<const PreparedPlan>> Model::plan_for(std::span<const Shape> inputs) const {
  if (open_ != nullptr) return open_->at(inputs);
  return Error{.kind = ErrorKind::usage,
               .where = compiled_.source,
               .found = "shapes of inputs for a model of fixed sizes",
               .expected = "one whose sizes are open"};
}

PlanCacheStatistics Model::plan_cache() const { return open_ == nullptr ? PlanCacheStatistics{} : open_->statistics(); }

std::string Model::described(const Plan& plan) const {
  return open_ == nullptr ? compiled_.source + ", plan " + words_for(plan) : open_->described(input_shapes(plan));
}

Result<std::size_t> Model::find_plan(std::optional<Precision> precision, std::optional<std::int64_t> batch) const {
  const auto matches = [&](const Plan& plan) {
    return (!precision || plan.precision == *precision) && (!batch || plan.batch == *batch);
  };
  const auto it = std::find_if(plans().begin(), plans().end(), matches);
  if (it != plans().end()) return static_cast<std::size_t>(it - plans().begin());
  std::string wanted, present;
  if (precision) wanted += name_of(*precision);
  if (batch) wanted += (wanted.empty() ? "" : " ") + std::string("batch ") + std::to_string(*batch);
  for (const Plan& plan : plans()) present += (present.empty() ? "" : ", ") + words_for(plan);
  return Error{.kind = ErrorKind::usage,
               .where = compiled_.source,
               .found = "no plan for " + (wanted.empty() ? "anything" : wanted),
               .expected = present.empty() ? "at least one plan" : "one of: " + present};
}

}  // namespace octavo
