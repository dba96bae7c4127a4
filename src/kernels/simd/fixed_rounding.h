// How a product in fixed point is rounded. Plain data, for files that are compiled for one instruction set. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_SIMD_FIXED_ROUNDING_H_
#define OCTAVO_KERNELS_SIMD_FIXED_ROUNDING_H_

#include <cstdint>

namespace octavo {

// Profiles tflite-double, tflite-single and tflite-optimized.
enum class FixedRounding : std::uint8_t { twice, once, twice_up };

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_FIXED_ROUNDING_H_
