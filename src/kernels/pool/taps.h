// The contract of pool/: one output position, all channels, from the inputs under its window. Part of kernels/.
#ifndef OCTAVO_KERNELS_POOL_TAPS_H_
#define OCTAVO_KERNELS_POOL_TAPS_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

// Where the taps inside the image are, in row-major order of the window; at least one.
struct PoolTaps {
  const std::byte* const* taps = nullptr;
  std::int64_t count = 0;
  std::int64_t channels = 0;
};

// The quantized formulas of base/requantize.h and base/rescale.h.
struct QuantizedPool {
  bool is_global = false;   // rne(f32(exact sum) * multiplier + offset) + zero_point; else
  bool is_integer = false;  // integer_average(exact sum, divisor); else average_pool_value of the f32 sum
  bool x_is_signed = false;
  std::int32_t x_zero_point = 0;
  float x_scale = 1.0f, y_scale = 1.0f;
  float multiplier = 1.0f, offset = 0.0f;  // global only
  std::int32_t zero_point = 0, lowest = 0, highest = 255, shift = 0;
  const std::uint8_t* table = nullptr;
};

struct PoolFunctions {
  void (*max_u8)(const PoolTaps&, std::byte* y);
  void (*max_s8)(const PoolTaps&, std::byte* y);
  void (*max_f32)(const PoolTaps&, std::byte* y);
  // Sums in f64, divided by `divisor`, rounded once. scratch: 8 bytes per channel.
  void (*average_f32)(const PoolTaps&, double divisor, std::byte* y, std::byte* scratch);
  // scratch: 4 bytes per channel.
  void (*average_q8)(const PoolTaps&, const QuantizedPool&, float divisor, std::byte* y, std::byte* scratch);
};
extern const PoolFunctions kPoolScalar;
extern const PoolFunctions kPoolAvx2;
extern const PoolFunctions kPoolAvx512;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_POOL_TAPS_H_
