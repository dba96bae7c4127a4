// Loading: CompiledModel -> Model. Part of run/.
#include "run/model.h"

#include <algorithm>

#include "run/prepare.h"

namespace octavo {
namespace {

Status check_instructions(const Plan& plan) {
  const IsaSet has = host_machine().isa;
  if (has.contains(plan.needs)) return ok_status();
  IsaSet missing = plan.needs;
  missing.bits &= ~has.bits;
  return Error{.kind = ErrorKind::resource,
               .found = "a plan for " + plan.machine.name + ", which needs " + missing.to_string(),
               .expected = "instructions that this machine has: " + has.to_string(),
               .hint = "Compile the model again with --target host"};
}

std::string describe(const Plan& plan) {
  return std::string(name_of(plan.precision)) + " batch " + std::to_string(plan.batch);
}

}  // namespace

Result<std::shared_ptr<const Model>> load_model(CompiledModel compiled, const LoadOptions& options) {
  auto model = std::make_shared<Model>();
  LoadOptions resolved = options;
  if (resolved.threads <= 0) resolved.threads = host_machine().cores;
  model->threads_ = resolved.threads;
  for (std::size_t i = 0; i < compiled.plans.size(); ++i) {
    const Plan& plan = compiled.plans[i];
    const Status can_run = check_instructions(plan);
    auto steps = can_run ? prepare_plan(plan, compiled.constants, resolved) : can_run.errors();
    if (!steps) {
      Errors errors = std::move(steps).errors();
      for (Error& error : errors)
        error.where = compiled.source + ", plan " + std::to_string(i) + (error.where.empty() ? "" : ", " + error.where);
      return errors;
    }
    model->steps_.push_back(std::move(*steps));
  }
  model->compiled_ = std::move(compiled);
  return std::shared_ptr<const Model>(std::move(model));
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
  for (const Plan& plan : plans()) present += (present.empty() ? "" : ", ") + describe(plan);
  return Error{.kind = ErrorKind::usage,
               .where = compiled_.source,
               .found = "no plan for " + (wanted.empty() ? "anything" : wanted),
               .expected = present.empty() ? "at least one plan" : "one of: " + present};
}

}  // namespace octavo
