// unary: functions of one element. Part of ops/.
#ifndef OCTAVO_OPS_UNARY_UNARY_H_
#define OCTAVO_OPS_UNARY_UNARY_H_

#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/unary/kind.h"

namespace octavo {

struct UnaryAttrs {
  UnaryKind kind = UnaryKind::identity;
  // leaky_relu, elu, selu, celu, thresholded_relu, hard_sigmoid (slope); clip: the lowest value; shrink: the edge;
  // is_inf: not 0 where -infinity counts
  float alpha = 0.0f;
  // hard_sigmoid: offset; selu: gamma; clip: the highest value; shrink: the bias; is_inf: not 0 where infinity counts
  float beta = 0.0f;

  bool operator==(const UnaryAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &UnaryAttrs::kind}, Field{"alpha", &UnaryAttrs::alpha},
                      Field{"beta", &UnaryAttrs::beta});
  }
};

// y = f(x). Integers for identity, relu, neg, abs, sign, clip (bounds rounded inwards), bitwise_not, bool for
// logical_not; floats for all but the last two. hard_swish: x * clamp(x/6 + 1/2, 0, 1). f32: unary_f32 of
// ops/unary/f32.h, in f32; other floats: evaluate_unary, rounded once, and so is f32 in tables (ops/in_tables.h).
extern const OpSpec kUnary;

// The value of the function, computed in double with our own exp, log and erf (base/math.h), so that its bits do not
// depend on the machine.
double evaluate_unary(const UnaryAttrs& attrs, double x);

}  // namespace octavo

#endif  // OCTAVO_OPS_UNARY_UNARY_H_
