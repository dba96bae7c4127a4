// How much arithmetic a node is. Part of planner/.
#ifndef OCTAVO_PLANNER_MACS_H_
#define OCTAVO_PLANNER_MACS_H_

#include <cstdint>

#include "kernels/kernel.h"

namespace octavo {

// Multiply-accumulates of a convolution or matrix product, 0 for other operators. Saturates.
std::int64_t macs_of(const OpCall& call);

// sum + macs * calls, saturating.
std::int64_t saturating_sum(std::int64_t sum, std::int64_t macs, std::int64_t calls);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_MACS_H_
