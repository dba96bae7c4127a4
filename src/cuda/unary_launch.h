// A function of one f32 value, of a tensor or of what a step has just written. Part of cuda/.
#ifndef OCTAVO_CUDA_UNARY_LAUNCH_H_
#define OCTAVO_CUDA_UNARY_LAUNCH_H_

#include "cuda/launch.h"
#include "ops/unary/unary.h"

namespace octavo::cuda {

// y = function(x), no angle, of so many elements; x is the step's first input, or y itself (Operand::output).
Launch unary_launch(const UnaryAttrs& function, std::int64_t elements, Operand x);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_UNARY_LAUNCH_H_
