// Weights and biases of integer convolutions. Part of lower/.
#ifndef OCTAVO_LOWER_INTEGER_WEIGHTS_H_
#define OCTAVO_LOWER_INTEGER_WEIGHTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "lower/quantized_value.h"

namespace octavo {

// What a quantized_conv reads: see its contract.
struct IntegerWeights {
  Tensor w;                         // s8 [OC, KH, KW, IC]
  std::optional<Tensor> w_offset;   // s32 [OC]
  Tensor bias;                      // s32 [OC], zero-point corrections in it
  std::optional<Tensor> bias_rest;  // f32 [OC]: what an f32 bias is more than whole units
  std::vector<float> scale;         // per output channel
};

// Weights as they came: quantized [OC, KH, KW, IC] (scales per tensor or on axis 0), and the bias in f32 or dequantized
// from s32.
struct SourceWeights {
  QuantizedConstant w;
  std::optional<QuantizedConstant> integer_bias;
  std::optional<Tensor> float_bias;  // f32 [OC]
};

// Removes the weights' zero points: (w - zero_point) where it fits s8, else what it lacks is an offset per output
// channel. Puts x's zero point into the bias. An f32 bias is rounded to units of x_scale * w_scale; with pt2e, whose
// program adds it as it is, the rest is kept. A reason where the sum could leave s32 for some x, per output channel.
std::variant<IntegerWeights, std::string> integer_weights(const SourceWeights& source, const QuantType& x,
                                                          Profile profile);

// The own inputs of a quantized_conv of `x` with these weights, as constants of the patch.
std::vector<ValueId> conv_inputs(Patch& patch, const Node& node, ValueId x, const IntegerWeights& weights);

// bias - x_zero_point * sum(w + w_offset) per output channel, w being s8 [OC, ...] and w_offset s32 [OC] or null; the
// one place where a zero point moves into a bias. Nothing where a result leaves s32.
std::optional<Tensor> bias_with_zero_point(const Tensor& bias, const Tensor& w, const Tensor* w_offset,
                                           std::int32_t x_zero_point);

}  // namespace octavo

#endif  // OCTAVO_LOWER_INTEGER_WEIGHTS_H_
