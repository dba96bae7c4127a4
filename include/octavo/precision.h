// Precision: what a plan computes in. Part of the public API.
#ifndef OCTAVO_PRECISION_H_
#define OCTAVO_PRECISION_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// int8: operators in integers where they are quantized; fp32: none. The numbers are part of the artifact format; never
// renumber.
enum class Precision : std::uint8_t { int8 = 0, fp32 = 1 };
constexpr int count_of(Precision) { return 2; }
constexpr std::string_view name_of(Precision precision) { return precision == Precision::int8 ? "int8" : "fp32"; }

}  // namespace octavo

#endif  // OCTAVO_PRECISION_H_
