// lrn: local response normalisation across channels. Part of ops/.
#ifndef OCTAVO_OPS_LRN_LRN_H_
#define OCTAVO_OPS_LRN_LRN_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct LrnAttrs {
  std::int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1.0f;
  std::int64_t axis = 1;  // the channel axis

  bool operator==(const LrnAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"size", &LrnAttrs::size}, Field{"alpha", &LrnAttrs::alpha}, Field{"beta", &LrnAttrs::beta},
                      Field{"bias", &LrnAttrs::bias}, Field{"axis", &LrnAttrs::axis});
  }
};

// y = x / (bias + alpha/size * sum of squares over `size` neighbouring channels)^beta. inputs: x. f32: the sum and what
// is in brackets in f64, rounded to f32, then pow_f32 (base/elementary_pow.h) and the quotient. Other floats: in f64,
// rounded once.
extern const OpSpec kLrn;

}  // namespace octavo

#endif  // OCTAVO_OPS_LRN_LRN_H_
