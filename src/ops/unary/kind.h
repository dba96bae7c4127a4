// The functions of unary as plain data, so that per-ISA files may include it. Part of ops/.
#ifndef OCTAVO_OPS_UNARY_KIND_H_
#define OCTAVO_OPS_UNARY_KIND_H_

#include <cstdint>
#include <string_view>

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
  is_nan = 32,
  tan = 33,
  asin = 34,
  acos = 35,
  atan = 36,
  sinh = 37,
  cosh = 38,
  asinh = 39,
  acosh = 40,
  atanh = 41,
  is_inf = 42,
  bitwise_not = 43,
  shrink = 44
};
constexpr int count_of(UnaryKind) { return 45; }
// Those that give booleans of floats.
constexpr bool is_test(UnaryKind kind) { return kind == UnaryKind::is_nan || kind == UnaryKind::is_inf; }
// The trigonometric and hyperbolic functions and their inverses.
constexpr bool is_angular(UnaryKind kind) {
  const bool is_listed = kind >= UnaryKind::tan && kind <= UnaryKind::atanh;
  return kind == UnaryKind::sin || kind == UnaryKind::cos || is_listed;
}
constexpr std::string_view name_of(UnaryKind value) {
  constexpr std::string_view names[] = {
      "identity",     "relu",        "sigmoid",    "tanh",     "exp",      "log",   "sqrt",
      "reciprocal",   "neg",         "abs",        "floor",    "ceil",     "round", "sign",
      "erf",          "gelu",        "gelu_tanh",  "softplus", "softsign", "mish",  "silu",
      "hard_sigmoid", "hard_swish",  "leaky_relu", "elu",      "selu",     "celu",  "thresholded_relu",
      "clip",         "logical_not", "sin",        "cos",      "is_nan",   "tan",   "asin",
      "acos",         "atan",        "sinh",       "cosh",     "asinh",    "acosh", "atanh",
      "is_inf",       "bitwise_not", "shrink"};
  return names[static_cast<int>(value)];
}

// UnaryAttrs but for the kind.
struct UnaryNumbers {
  float alpha = 0.0f, beta = 0.0f;
};

// y = f(x) of n f32; y may be x.
using UnaryLine = void (*)(const float* x, float* y, std::int64_t n, UnaryNumbers numbers);
struct UnaryLines {
  UnaryLine of[count_of(UnaryKind{})] = {};  // by the number of the kind
};

}  // namespace octavo

#endif  // OCTAVO_OPS_UNARY_KIND_H_
