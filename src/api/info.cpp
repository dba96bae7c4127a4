// Internal descriptions -> public ones. Part of api/.
#include "api/info.h"

namespace octavo::v1 {
namespace {

PlanInfo plan_info(const Plan& plan) {
  PlanInfo info{.precision = plan.precision,
                .batch = plan.batch,
                .inputs = tensors_of(plan.inputs),
                .outputs = tensors_of(plan.outputs),
                .steps = static_cast<std::int64_t>(plan.steps.size()),
                .macs = plan.macs,
                .arena_bytes = plan.arena_bytes,
                .steps_by_image = plan.image_loop.steps,
                .image_bytes = plan.image_loop.arena_bytes,
                .islands = plan.islands,
                .notes = plan.notes};
  for (const PlanStep& step : plan.steps) ++info.kernels[step.kernel];
  return info;
}

}  // namespace

std::vector<TensorInfo> tensors_of(const std::vector<PlanTensor>& tensors) {
  std::vector<TensorInfo> infos;
  for (const PlanTensor& tensor : tensors) {
    infos.push_back({.name = tensor.name,
                     .dtype = tensor.dtype,
                     .shape = tensor.shape,
                     .scale = tensor.scale,
                     .zero_point = tensor.zero_point});
  }
  return infos;
}

ModelInfo info_of(const octavo::CompiledModel& model) {
  ModelInfo info{.source = model.source,
                 .dialect = model.dialect,
                 .machine = model.machine.name,
                 .instructions = model.needs.to_string(),
                 .source_nodes = model.source_nodes,
                 .constant_bytes = model.constants.size()};
  for (const Plan& plan : model.plans) info.plans.push_back(plan_info(plan));
  return info;
}

}  // namespace octavo::v1
