// measure_ns: how long a kernel takes for a call, on this machine and one thread. Part of planner/.
#ifndef OCTAVO_PLANNER_MEASURE_H_
#define OCTAVO_PLANNER_MEASURE_H_

#include <optional>

#include "kernels/choice.h"

namespace octavo {

// Nanoseconds of the best of several runs, in the way that the kernel chooses by itself, on random data, with level 2
// emptied before each, as the rest of a network would: some milliseconds of time. Nothing where this machine lacks the
// instructions or the memory to prepare or run the kernel.
std::optional<double> measure_ns(const KernelChoice& kernel, const OpCall& call);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_MEASURE_H_
