// The quotient of TFLite's own DIV; belongs to base/fixed_point.h. A declaration alone, for files that are compiled for
// one instruction set. Part of base/.
#ifndef OCTAVO_BASE_FIXED_QUOTIENT_H_
#define OCTAVO_BASE_FIXED_QUOTIENT_H_

#include <cstdint>

namespace octavo {

// a / b times FixedMultiplier{multiplier, shift}, |a| and |b| at most 255: the reciprocal of b in Q0 by Newton steps,
// both products rounded as tflite-double's. Shifts of 32 bits and more go by the lowest five of their bits, as on the
// processors that LiteRT was measured on: a dividend of 0 may give 1. A divisor of 0, which LiteRT refuses, counts as
// 1.
std::int32_t fixed_quotient(std::int32_t multiplier, std::int32_t shift, std::int32_t a, std::int32_t b);

}  // namespace octavo

#endif  // OCTAVO_BASE_FIXED_QUOTIENT_H_
