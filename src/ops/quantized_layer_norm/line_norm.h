// What a line of quantized_layer_norm has in common, so that code of devices may include it. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_LAYER_NORM_LINE_NORM_H_
#define OCTAVO_OPS_QUANTIZED_LAYER_NORM_LINE_NORM_H_

#include <cstdint>

namespace octavo {

// Of its exact sums; d = x - x_zero_point, |d| < 2^16.
struct LineNorm {
  float mean = 0.0f;
  float inverse = 0.0f;  // 1 / sqrt(variance + epsilon)

  // sum and squares: those of d and d * d over `count` values. Not centred: RMS norm, whose mean is 0.
  static constexpr LineNorm of(bool is_centred, float epsilon, std::int64_t sum, std::int64_t squares,
                               std::int64_t count) {
    const auto n = static_cast<double>(count);
    const std::int64_t spread = is_centred ? count * squares - sum * sum : count * squares;
    const double variance = static_cast<double>(spread) / (n * n) + static_cast<double>(epsilon);
    return {is_centred ? static_cast<float>(static_cast<double>(sum) / n) : 0.0f,
            static_cast<float>(1.0 / __builtin_sqrt(variance))};
  }
};

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_LAYER_NORM_LINE_NORM_H_
