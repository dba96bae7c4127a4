// How much arithmetic a node is. Part of plan/.
#ifndef OCTAVO_PLAN_MACS_H_
#define OCTAVO_PLAN_MACS_H_

#include <cstdint>

#include "kernels/kernel.h"
#include "plan/plan.h"

namespace octavo {

// Multiply-accumulates of a convolution or matrix product, 0 for other operators. Saturates.
std::int64_t macs_of(const OpCall& call);
std::int64_t macs_of(const PlanStep& step);

}  // namespace octavo

#endif  // OCTAVO_PLAN_MACS_H_
