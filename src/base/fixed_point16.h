// Functions of 16-bit fixed-point numbers, as TFLite's recurrent layers in integers compute them; belongs to the rule
// book of requantize.h. Part of base/.
#ifndef OCTAVO_BASE_FIXED_POINT16_H_
#define OCTAVO_BASE_FIXED_POINT16_H_

#include <cstdint>

namespace octavo {

// 1 / (1 + exp(-x)) in units of 2^-15 of x in units of 2^-12.
std::int16_t fixed_sigmoid16(std::int16_t x);

// tanh(x) in units of 2^-15 of x with so many integer bits: in units of 2^(integer_bits - 15).
inline constexpr int kMostTanhBits = 6;
std::int16_t fixed_tanh16(std::int16_t x, int integer_bits);

}  // namespace octavo

#endif  // OCTAVO_BASE_FIXED_POINT16_H_
