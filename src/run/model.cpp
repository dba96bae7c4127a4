// Loading: CompiledModel -> Model. Part of run/.
#include "run/model.h"

#include <algorithm>

#include "run/context_memory.h"
#include "run/open_plans.h"
#include "run/prepare.h"

namespace octavo {
namespace {

// Instructions of x86 and of aarch64 that a set has; beside each other never.
constexpr IsaSet kX86{0x7e}, kArm64{0x380};

// Of another processor altogether: nothing that this one could lack.
bool is_foreign(IsaSet needs, IsaSet has) {
  return ((needs.bits & kX86.bits) != 0 && (has.bits & kArm64.bits) != 0) ||
         ((needs.bits & kArm64.bits) != 0 && (has.bits & kX86.bits) != 0);
}

Status check_instructions(const Plan& plan) {
  const IsaSet has = host_machine().isa;
  if (has.contains(plan.needs)) return ok_status();
  IsaSet missing = plan.needs;
  missing.bits &= ~has.bits;
  return Error{.kind = is_foreign(plan.needs, has) ? ErrorKind::usage : ErrorKind::resource,
               .found = "a plan for " + plan.machine.name + ", which needs " + missing.to_string(),
               .expected = "instructions that this machine has: " + has.to_string(),
               .hint = "Compile the model again with --target host"};
}

std::string words_for(const Plan& plan) {
  return std::string(name_of(plan.precision)) + " batch " + std::to_string(plan.batch);
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
  std::vector<std::shared_ptr<PreparedPlan>> made;
  for (std::size_t i = 0; i < compiled.plans.size(); ++i) {
    const Plan& plan = compiled.plans[i];
    const Status can_run = check_instructions(plan);
    auto steps = can_run ? prepare_plan(plan, FileConstants(compiled.constants), resolved) : can_run.errors();
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
  if (!model->compiled_.network) return std::shared_ptr<const Model>(std::move(model));
  auto open = OpenPlans::create(model->compiled_, *model->constants_, model->prepared_, resolved);
  if (!open) {
    Errors errors = std::move(open).errors();
    for (Error& error : errors) error.where = model->compiled_.source + ", " + error.where;
    return errors;
  }
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
