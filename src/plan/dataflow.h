// Who writes a value and who reads it. Part of plan/.
//
// All of it speaks of values of their own: a view counts as the value that it shows. Plans whose indices were checked.
#ifndef OCTAVO_PLAN_DATAFLOW_H_
#define OCTAVO_PLAN_DATAFLOW_H_

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace octavo {

inline constexpr std::int32_t kNoStep = -1;

// By value: the value of its own that it shows.
std::vector<ValueIndex> roots(const Plan& plan);

// By value: the step that writes it; kNoStep of inputs and constants.
std::vector<std::int32_t> producers(const Plan& plan);

// By value: the steps that read it, ascending, each once; those of views are with the value that they show.
std::vector<std::vector<std::int32_t>> readers(const Plan& plan);

// By step: the values in the arena or of the caller that were there before or are written by it and that later steps
// read, ascending.
std::vector<std::vector<ValueIndex>> live_after(const Plan& plan);

}  // namespace octavo

#endif  // OCTAVO_PLAN_DATAFLOW_H_
