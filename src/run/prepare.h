// A plan from a file that may be hostile -> steps that are safe to run. Part of run/.
#ifndef OCTAVO_RUN_PREPARE_H_
#define OCTAVO_RUN_PREPARE_H_

#include <span>
#include <vector>

#include "run/model.h"

namespace octavo {

// The speeds that kernels choose schedules by. Error: invalid_input.
Status check_speeds(const Machine& machine);

// Checks every name, type, shape, size, offset and index of the plan, then prepares its steps. Those whose call is a
// step's of `like`, a plan of the same model that was prepared with the same options, are shared with it; it may be
// null.
Result<std::vector<PreparedStep>> prepare_plan(const Plan& plan, const ConstantSource& constants,
                                               const LoadOptions& options, const PreparedPlan* like = nullptr);

}  // namespace octavo

#endif  // OCTAVO_RUN_PREPARE_H_
