// What the public API tells of a compiled model. Part of api/.
#ifndef OCTAVO_API_INFO_H_
#define OCTAVO_API_INFO_H_

#include "artifact/artifact.h"
#include "octavo/octavo.h"

namespace octavo::v1 {

ModelInfo info_of(const octavo::CompiledModel& model);
std::vector<TensorInfo> tensors_of(const Plan& plan, const std::vector<PlanPort>& ports);

}  // namespace octavo::v1

#endif  // OCTAVO_API_INFO_H_
