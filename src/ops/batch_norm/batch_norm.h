// batch_norm: inference-mode batch normalisation. Part of ops/.
#ifndef OCTAVO_OPS_BATCH_NORM_BATCH_NORM_H_
#define OCTAVO_OPS_BATCH_NORM_BATCH_NORM_H_

#include <cmath>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct BatchNormAttrs {
  float epsilon = 1e-5f;
  std::int64_t axis = 1;  // the channel axis

  bool operator==(const BatchNormAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"epsilon", &BatchNormAttrs::epsilon}, Field{"axis", &BatchNormAttrs::axis});
  }
};

// A channel: y = x * factor + shift, each operation rounded, as ONNX Runtime computes it.
template <class T>
struct BatchNormChannel {
  T factor, shift;

  static BatchNormChannel of(T scale, T bias, T mean, T variance, T epsilon) {
    const T factor = T{1} / std::sqrt(variance + epsilon) * scale;
    return {factor, bias - mean * factor};
  }
};

// y = (x - mean) / sqrt(var + epsilon) * scale + bias along `axis`, in f64 for f64 and in f32 for others, by
// BatchNormChannel. inputs: x, scale, bias, mean, var (each [C]).
extern const OpSpec kBatchNorm;

}  // namespace octavo

#endif  // OCTAVO_OPS_BATCH_NORM_BATCH_NORM_H_
