// unary: functions of one element. Part of ops/.
#ifndef OCTAVO_OPS_UNARY_UNARY_H_
#define OCTAVO_OPS_UNARY_UNARY_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// Which function. Numbers are part of the artifact format.
enum class UnaryKind : std::uint8_t {
  identity = 0,
  relu = 1,
  sigmoid = 2,
  tanh = 3,
  exp = 4,
  log = 5,
  sqrt = 6,
  reciprocal = 7,
  neg = 8,
  abs = 9,
  floor = 10,
  ceil = 11,
  round = 12,
  sign = 13,
  erf = 14,
  gelu = 15,
  gelu_tanh = 16,
  softplus = 17,
  softsign = 18,
  mish = 19,
  silu = 20,
  hard_sigmoid = 21,
  hard_swish = 22,
  leaky_relu = 23,
  elu = 24,
  selu = 25,
  celu = 26,
  thresholded_relu = 27,
  clip = 28,
  logical_not = 29,
  sin = 30,
  cos = 31,
  is_nan = 32
};
constexpr int count_of(UnaryKind) { return 33; }
constexpr std::string_view name_of(UnaryKind value) {
  constexpr std::string_view names[] = {
      "identity",     "relu",        "sigmoid",    "tanh",     "exp",      "log",   "sqrt",
      "reciprocal",   "neg",         "abs",        "floor",    "ceil",     "round", "sign",
      "erf",          "gelu",        "gelu_tanh",  "softplus", "softsign", "mish",  "silu",
      "hard_sigmoid", "hard_swish",  "leaky_relu", "elu",      "selu",     "celu",  "thresholded_relu",
      "clip",         "logical_not", "sin",        "cos",      "is_nan"};
  return names[static_cast<int>(value)];
}

struct UnaryAttrs {
  UnaryKind kind = UnaryKind::identity;
  float alpha = 0.0f;  // leaky_relu, elu, selu, celu, thresholded_relu, hard_sigmoid (slope); clip: the lowest value
  float beta = 0.0f;   // hard_sigmoid: offset; selu: gamma; clip: the highest value

  bool operator==(const UnaryAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &UnaryAttrs::kind}, Field{"alpha", &UnaryAttrs::alpha},
                      Field{"beta", &UnaryAttrs::beta});
  }
};

// y = f(x). Integers for identity, relu, neg, abs, sign, clip (bounds rounded inwards), bool for logical_not; floats
// for all. hard_swish: x * clamp(x/6 + 1/2, 0, 1). sigmoid of f32: math_sigmoid_f32.
extern const OpSpec kUnary;

// The value of the function, computed in double with our own exp, log and erf (base/math.h), so that its bits do not
// depend on the machine; an f32 result is this value rounded once, the operator's sigmoid excepted.
double evaluate_unary(const UnaryAttrs& attrs, double x);

}  // namespace octavo

#endif  // OCTAVO_OPS_UNARY_UNARY_H_
