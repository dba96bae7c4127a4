// family_of: what plans of a network for other sizes have of one that was planned. Part of planner/.
#ifndef OCTAVO_PLANNER_PLAN_FAMILY_H_
#define OCTAVO_PLANNER_PLAN_FAMILY_H_

#include <cstdint>
#include <memory>
#include <span>

#include "planner/planner.h"
#include "run/plan_provider.h"

namespace octavo {

// Of `plan`, which was made of `network` restored at some sizes; `stored_values`: of that graph. Null where sizes
// decide more about the plan than shapes, attributes and memory: where something is lowered only when they are known,
// measured times choose kernels, it is for a device, or images of a batch follow each other.
std::shared_ptr<const PlanFamily> family_of(const OpenNetwork& network, const ConstantSource& source, const Plan& plan,
                                            const PlanTrace& trace, std::span<const std::int32_t> stored_values);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_PLAN_FAMILY_H_
