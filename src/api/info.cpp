// Internal descriptions -> public ones. Part of api/.
#include "api/info.h"

#include <algorithm>

namespace octavo::v1 {
namespace {

PlanInfo plan_info(const Plan& plan) {
  PlanInfo info{.precision = plan.precision,
                .batch = plan.batch,
                .inputs = tensors_of(plan, plan.inputs),
                .outputs = tensors_of(plan, plan.outputs),
                .steps = static_cast<std::int64_t>(plan.steps.size()),
                .macs = plan.report.macs,
                .arena_bytes = plan.arena_bytes,
                .notes = plan.report.notes};
  for (const Region& region : plan.regions) {
    info.steps_by_image += region.steps;
    info.image_bytes = std::max(info.image_bytes, region.arena_bytes);
  }
  for (const PlanIsland& island : plan.report.islands)
    info.islands.push_back(island.node + " (" + island.op + "): " + island.reason);
  for (const PlanStep& step : plan.steps) ++info.kernels[step.kernel];
  return info;
}

}  // namespace

std::vector<TensorInfo> tensors_of(const Plan& plan, const std::vector<PlanPort>& ports) {
  std::vector<TensorInfo> infos;
  for (const PlanPort& port : ports) {
    const PlanValue& value = plan.value(port.value);
    infos.push_back({.name = port.name, .dtype = value.dtype, .shape = value.shape});
    if (!value.scale) continue;
    infos.back().scale = {value.scale->scale};
    infos.back().zero_point = {value.scale->zero_point};
  }
  return infos;
}

ModelInfo info_of(const octavo::CompiledModel& model) {
  ModelInfo info{.source = model.source,
                 .dialect = model.dialect,
                 .machine = model.plans.empty() ? "" : model.plans.front().machine.name,
                 .source_nodes = model.source_nodes,
                 .constant_bytes = model.constants.size()};
  IsaSet needs;
  for (const Plan& plan : model.plans) {
    needs.bits |= plan.needs.bits;
    info.plans.push_back(plan_info(plan));
  }
  info.instructions = needs.to_string();
  return info;
}

}  // namespace octavo::v1
