// packing_key: by what a plan knows again what a kernel packed for another one. Part of planner/.
#ifndef OCTAVO_PLANNER_PACKING_KEY_H_
#define OCTAVO_PLANNER_PACKING_KEY_H_

#include <cstddef>
#include <span>
#include <string>

#include "kernels/choice.h"
#include "plan/constants.h"

namespace octavo {

// Calls with the same key, of one sink, are packed alike. `attrs`: of the call, encoded. Empty where the kernel does
// not say by what its packing depends on the sizes of a call.
std::string packing_key(const KernelChoice& kernel, const OpCall& call, std::span<const std::byte> attrs,
                        const ConstantSink& sink);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_PACKING_KEY_H_
