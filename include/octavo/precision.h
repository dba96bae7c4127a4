// Precision and BatchOrder: what a plan computes in, and how a batch goes through it. Part of the public API.
#ifndef OCTAVO_PRECISION_H_
#define OCTAVO_PRECISION_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// The numbers are part of the artifact format; never renumber.
enum class Precision : std::uint8_t { int8 = 0, fp32 = 1 };
constexpr int count_of(Precision) { return 2; }
constexpr std::string_view name_of(Precision precision) { return precision == Precision::int8 ? "int8" : "fp32"; }

// All of a batch through one step after the other, or image by image as far as the operators allow, or whichever is
// predicted to be faster.
enum class BatchOrder : std::uint8_t { automatic, steps, images };

}  // namespace octavo

#endif  // OCTAVO_PRECISION_H_
