// Looking things up in a plan that may come from anywhere. Part of plan/.
#include "plan/plan.h"

#include <algorithm>

namespace octavo {
namespace {

Error damaged(std::string where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = std::move(where),
          .found = std::move(found),
          .expected = std::move(expected)};
}

Status check_value(const Plan& plan, const std::string& where, ValueIndex index) {
  if (index >= 0 && static_cast<std::size_t>(index) < plan.values.size()) return ok_status();
  return damaged(where, "value " + std::to_string(index), "one of " + std::to_string(plan.values.size()));
}

Status check_ports(const Plan& plan, const std::vector<PlanPort>& ports, Place place) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string where = std::string(name_of(place)) + " '" + ports[i].name + "'";
    if (Status status = check_value(plan, where, ports[i].value); !status) return status;
    const PlanValue& value = plan.value(ports[i].value);
    if (value.place != place || value.offset != i)
      return damaged(where, "a value in place '" + std::string(name_of(value.place)) + "'", "the caller's tensor");
  }
  return ok_status();
}

Status check_views(const Plan& plan) {
  for (std::size_t i = 0; i < plan.values.size(); ++i) {
    const PlanValue& value = plan.values[i];
    if (value.view_of == kNoValue) continue;
    const std::string where = "value " + std::to_string(i);
    if (value.view_of < 0 || static_cast<std::size_t>(value.view_of) >= i)
      return damaged(where, "a view of value " + std::to_string(value.view_of), "one of an earlier value");
    const PlanValue& seen = plan.value(value.view_of);
    if (seen.place != value.place || seen.offset != value.offset || seen.dtype != value.dtype)
      return damaged(where, "a view that lies elsewhere", "the place and type of the value that it shows");
  }
  return ok_status();
}

Status check_step(const Plan& plan, const PlanStep& step) {
  for (const ValueIndex input : step.inputs) {
    if (input == kNoValue) continue;
    if (Status status = check_value(plan, "an input", input); !status) return status;
  }
  for (const auto& [values, where] : {std::pair(&step.outputs, "an output"), {&step.packed, "a packed constant"}}) {
    for (const ValueIndex value : *values) {
      if (Status status = check_value(plan, where, value); !status) return status;
    }
  }
  return ok_status();
}

Status check_regions(const Plan& plan) {
  std::int64_t end = 0;
  for (const Region& region : plan.regions) {
    const auto steps = static_cast<std::int64_t>(plan.steps.size());
    if (region.first_step < end || region.steps < 1 || region.first_step > steps - region.steps)
      return damaged(
          "", "a region of " + std::to_string(region.steps) + " steps from step " + std::to_string(region.first_step),
          "steps from " + std::to_string(end) + " on, of " + std::to_string(steps));
    end = region.end();
  }
  return ok_status();
}

}  // namespace

const Region* Plan::region_of(std::size_t step) const {
  const auto it = std::find_if(regions.begin(), regions.end(), [&](const Region& region) { return region.has(step); });
  return it == regions.end() ? nullptr : &*it;
}

std::int64_t Plan::calls_of(std::size_t step) const {
  const Region* region = region_of(step);
  return region == nullptr ? 1 : region->slices;
}

const StepReport& Plan::report_of(std::size_t step) const {
  static const StepReport none;
  return step < report.steps.size() ? report.steps[step] : none;
}

std::string_view Plan::name_of_value(ValueIndex index) const {
  const auto i = static_cast<std::size_t>(index);
  return index >= 0 && i < report.values.size() ? std::string_view(report.values[i]) : std::string_view();
}

Status check_indices(const Plan& plan) {
  if (Status status = check_ports(plan, plan.inputs, Place::input); !status) return status;
  if (Status status = check_ports(plan, plan.outputs, Place::output); !status) return status;
  if (Status status = check_views(plan); !status) return status;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    Status status = check_step(plan, plan.steps[i]);
    if (status) continue;
    Errors errors = std::move(status).errors();
    for (Error& error : errors) error.where = "step " + std::to_string(i) + ", " + error.where;
    return errors;
  }
  return check_regions(plan);
}

}  // namespace octavo
