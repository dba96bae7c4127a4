// layer_norm: normalisation over the last axes. Part of ops/.
#ifndef OCTAVO_OPS_LAYER_NORM_LAYER_NORM_H_
#define OCTAVO_OPS_LAYER_NORM_LAYER_NORM_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct LayerNormAttrs {
  std::int64_t axis = 0;  // first normalised axis, not negative
  float epsilon = 1e-5f;

  bool operator==(const LayerNormAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &LayerNormAttrs::axis}, Field{"epsilon", &LayerNormAttrs::epsilon});
  }
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over axes [axis, rank). inputs: x, scale, bias?. f32: sums
// of x and of (x - mean)^2 in f64, in 16 partial sums (base/partial_sums.h), mean and factor = 1 / sqrt(variance +
// epsilon) rounded to f32; then in f32 fma((x - mean) * factor, scale, bias). Other floats: in f64 in order, rounded
// once.
extern const OpSpec kLayerNorm;

}  // namespace octavo

#endif  // OCTAVO_OPS_LAYER_NORM_LAYER_NORM_H_
