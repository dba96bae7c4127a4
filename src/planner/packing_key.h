// packing_key: by what a plan knows again what a kernel packed for another one. Part of planner/.
#ifndef OCTAVO_PLANNER_PACKING_KEY_H_
#define OCTAVO_PLANNER_PACKING_KEY_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/choice.h"
#include "plan/constants.h"

namespace octavo {

// Calls with the same key, of one sink, are packed alike. `attrs`: of the call, encoded. Empty where the kernel does
// not say by what its packing depends on the sizes of a call.
std::string packing_key(const KernelChoice& kernel, const OpCall& call, std::span<const std::byte> attrs,
                        const ConstantSink& sink);

// What the kernel packs for the call, as constants of the sink: found there by its key, or made now. `made`, which may
// be empty, is called between making tensors and adding them.
std::vector<PackedTensor> packed_tensors(const KernelChoice& kernel, const OpCall& call,
                                         std::span<const std::byte> attrs, ConstantSink& sink,
                                         const std::function<void()>& made = {});

}  // namespace octavo

#endif  // OCTAVO_PLANNER_PACKING_KEY_H_
