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

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over axes [axis, rank); sums in f64. inputs: x, scale,
// bias?.
extern const OpSpec kLayerNorm;

}  // namespace octavo

#endif  // OCTAVO_OPS_LAYER_NORM_LAYER_NORM_H_
