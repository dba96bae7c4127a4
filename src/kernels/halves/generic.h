// The loops of halves/ in plain C++ without branches, which the compiler vectorizes for each instruction set. Numbers
// that are none become quiet, as the conversion to f64 in the reference of cast makes them. Internal linkage only. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_HALVES_GENERIC_H_
#define OCTAVO_KERNELS_HALVES_GENERIC_H_

#include <bit>

#include "kernels/halves/functions.h"

namespace octavo {
namespace {

// As f16_to_f32 of base/dtype.h: a half whose exponent is read as one of f32 is 2^112 times too small, exactly.
float from_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu, wide = magnitude << 13;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(wide) * 0x1p112f),
                      special = (wide + (224u << 23)) | (magnitude > 0x7c00u ? 0x400000u : 0u);
  return std::bit_cast<float>(((bits & 0x8000u) << 16) | (magnitude >= 0x7c00u ? special : finite));
}

// As f32_to_f16.
std::uint16_t to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u,
                      normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13,
                      special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const std::uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | (magnitude >= 0x477ff000u ? special : finite));
}

float from_bf16(std::uint16_t half) {
  const std::uint32_t bits = half;
  return std::bit_cast<float>((bits | ((bits & 0x7fffu) > 0x7f80u ? 0x40u : 0u)) << 16);
}

std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

template <class From, class To, To (*convert)(From)>
void convert_all(const std::byte* x, std::byte* y, std::int64_t n) {
  const auto* __restrict from = reinterpret_cast<const From*>(x);
  auto* __restrict to = reinterpret_cast<To*>(y);
  for (std::int64_t i = 0; i < n; ++i) to[i] = convert(from[i]);
}

constexpr HalfFunctions half_functions() {
  return {convert_all<std::uint16_t, float, from_f16>, convert_all<float, std::uint16_t, to_f16>,
          convert_all<std::uint16_t, float, from_bf16>, convert_all<float, std::uint16_t, to_bf16>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_HALVES_GENERIC_H_
