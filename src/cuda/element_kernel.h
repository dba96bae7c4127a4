// Choices of kernels that pack nothing and, unless they have another cost, are bound by the memory their operands lie
// in. Part of cuda/.
#ifndef OCTAVO_CUDA_ELEMENT_KERNEL_H_
#define OCTAVO_CUDA_ELEMENT_KERNEL_H_

#include "cuda/arguments.h"
#include "cuda/cost.h"
#include "cuda/launch.h"
#include "kernels/choice.h"

namespace octavo::cuda {

inline double element_cost(const OpCall& call, const Machine& machine) { return memory_ns(view_of(call), machine); }

inline std::string refuse_size(const CallView& call) { return elements_refusal(call.output().elements()); }

template <Refuse refuse, auto make, double (*cost)(const OpCall&, const Machine&) = element_cost>
constexpr KernelChoice element_kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name, .op = op, .needs = Isa::cuda, .prepare = prepare_by<refuse, make>},
          .refusal = refusal_by<refuse>,
          .cost = cost,
          .knows_speeds = true};
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_ELEMENT_KERNEL_H_
