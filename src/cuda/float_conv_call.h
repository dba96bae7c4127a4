// What the kernels of fused_conv share. Part of cuda/.
#ifndef OCTAVO_CUDA_FLOAT_CONV_CALL_H_
#define OCTAVO_CUDA_FLOAT_CONV_CALL_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "kernels/call.h"

namespace octavo::cuda {

enum FloatConvInput : std::size_t { kX = 0, kW = 1, kBias = 2, kResidual = 3 };
enum FloatConvPacked : std::size_t { kWeights = 0, kBiases = 1 };

// At compile time: constants that pack needs, and operands that must not be constants, which it would drop.
inline std::string refuse_float_variables(const OpCall& call) {
  const auto is_any = [&](std::initializer_list<std::size_t> inputs, bool is_constant) {
    return std::ranges::any_of(inputs, [&](std::size_t i) {
      return i < call.inputs.size() && call.inputs[i] != nullptr && call.inputs[i]->is_constant() == is_constant;
    });
  };
  if (is_any({kW, kBias}, false)) return "needs constant weights";
  return is_any({kX, kResidual}, true) ? "needs a variable x and residual" : "";
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_FLOAT_CONV_CALL_H_
