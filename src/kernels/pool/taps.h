// The contract of pool/: output positions, all channels, from the inputs under their windows. Part of kernels/.
#ifndef OCTAVO_KERNELS_POOL_TAPS_H_
#define OCTAVO_KERNELS_POOL_TAPS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/epilogue/rows.h"

namespace octavo {

// Where the taps inside the image are, in row-major order of the window; at least one. Of several positions, which have
// as many taps, those of the first: the next one's lie `step` bytes further, and its results behind the first one's.
struct PoolTaps {
  const std::byte* const* taps = nullptr;
  std::int64_t count = 0;
  std::int64_t channels = 0;
  std::int64_t positions = 1, step = 1;  // of the functions for the largest; others compute one
};

// quantized_pool: the epilogue of the exact sum, of its integer_average or of the f32 mean.
struct QuantizedPool {
  enum class Form : std::uint8_t { sum, integer_average, real_average };

  Form form = Form::sum;
  bool x_is_signed = false;
  std::int32_t x_zero_point = 0;
  float x_scale = 1.0f;
  RowEpilogue epilogue;
};

struct PoolFunctions {
  void (*max_u8)(const PoolTaps&, std::byte* y);
  void (*max_s8)(const PoolTaps&, std::byte* y);
  void (*max_f32)(const PoolTaps&, std::byte* y);
  // Sums in f64, times 1 / divisor in f64, rounded once.
  void (*average_f32)(const PoolTaps&, double divisor, std::byte* y);
  // scratch: 4 bytes per channel.
  void (*average_q8)(const PoolTaps&, const QuantizedPool&, std::int64_t divisor, std::byte* y, std::byte* scratch);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_POOL_TAPS_H_
