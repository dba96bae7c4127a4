// Scales: from ranges and weights to 8-bit parameters and integers. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_SCALES_H_
#define OCTAVO_QUANTIZE_SCALES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "quantize/quantize.h"

namespace octavo {

// Products and quotients of scales within these stay normal f32 numbers.
inline constexpr float kSmallestScale = 0x1p-40f, kLargestScale = 0x1p40f;

// Scale and zero point of an activation.
struct ActivationScale {
  DType dtype = DType::u8;
  float scale = 1.0f;
  std::int32_t zero_point = 0;
  bool operator==(const ActivationScale&) const = default;
};

// u8: the range is widened to contain 0; scale = (highest - lowest) / 255, zero point = rne(-lowest / scale). {0, 0}
// gives scale 1.
ActivationScale activation_scale(TensorRange range);
// s16 of a value whose bytes have that scale: four times their larger end, zero point 0; what the samples did not show
// is not cut off, and 13 bits are left.
ActivationScale wide_scale(const ActivationScale& bytes);
// relay.quantize with one global scale: s8 of scale global_scale / 128, zero point 0.
ActivationScale global_activation_scale(float global_scale);

// Round to nearest, ties to even, for magnitudes below 2^22: by additions, which vector registers have on every
// machine.
inline float round_small(float x) {
  constexpr float kRounder = 0x1.8p23f;
  return (x + kRounder) - kRounder;
}

// Weights of a convolution or product with their bias.
struct QuantizedWeights {
  Tensor values;                   // s8, shape of the weights
  std::vector<float> scale;        // per channel
  std::vector<std::int32_t> bias;  // s32 at x_scale * scale; empty where there is none
};

// Per channel of `axis`, symmetric: scale = max|w| / 127, raised where the bias would leave 2^30 (room for the sum is
// kept). A channel of zeros gets scale 1, or one that holds its bias to 20 bits. `bias` may be empty. `known` (may be
// null) is taken instead, but not for a channel of scale 0 or whose bias would leave 2^30.
QuantizedWeights quantize_weights(const Tensor& weights, int axis, std::span<const float> bias, float x_scale,
                                  const RoundedWeights* known = nullptr);

// Of the product with that result; null where there are none.
const RoundedWeights* known_weights(const Calibrated& calibrated, const std::string& result);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SCALES_H_
