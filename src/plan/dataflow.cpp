// One pass over the steps for each question. Part of plan/.
#include "plan/dataflow.h"

#include <set>

namespace octavo {
namespace {

std::size_t at(ValueIndex index) { return static_cast<std::size_t>(index); }

bool is_computed_or_given(const PlanValue& value) {
  return value.place != Place::constant && value.place != Place::packed;
}

}  // namespace

std::vector<ValueIndex> roots(const Plan& plan) {
  std::vector<ValueIndex> roots;
  for (const PlanValue& value : plan.values)
    roots.push_back(value.view_of == kNoValue ? static_cast<ValueIndex>(roots.size()) : roots[at(value.view_of)]);
  return roots;
}

std::vector<std::int32_t> producers(const Plan& plan) {
  const std::vector<ValueIndex> root = roots(plan);
  std::vector<std::int32_t> of_root(plan.values.size(), kNoStep);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (const ValueIndex output : plan.steps[step].outputs) of_root[at(root[at(output)])] = static_cast<int>(step);
  }
  std::vector<std::int32_t> producers;
  for (const ValueIndex value : root) producers.push_back(of_root[at(value)]);
  return producers;
}

std::vector<std::vector<std::int32_t>> readers(const Plan& plan) {
  const std::vector<ValueIndex> root = roots(plan);
  std::vector<std::vector<std::int32_t>> readers(plan.values.size());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (const ValueIndex input : plan.steps[step].inputs) {
      if (input == kNoValue) continue;
      std::vector<std::int32_t>& of_value = readers[at(root[at(input)])];
      if (of_value.empty() || of_value.back() != static_cast<int>(step)) of_value.push_back(static_cast<int>(step));
    }
  }
  return readers;
}

std::vector<std::vector<ValueIndex>> live_after(const Plan& plan) {
  const std::vector<ValueIndex> root = roots(plan);
  std::vector<std::vector<ValueIndex>> live(plan.steps.size());
  std::set<ValueIndex> now;
  for (std::size_t step = plan.steps.size(); step-- > 0;) {
    live[step].assign(now.begin(), now.end());
    for (const ValueIndex output : plan.steps[step].outputs) now.erase(root[at(output)]);
    for (const ValueIndex input : plan.steps[step].inputs) {
      if (input != kNoValue && is_computed_or_given(plan.value(input))) now.insert(root[at(input)]);
    }
  }
  return live;
}

}  // namespace octavo
