// How large tables of sizes may be: far above what networks need; a file may ask for more. Part of base/.
#ifndef OCTAVO_BASE_SIZE_LIMITS_H_
#define OCTAVO_BASE_SIZE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

inline constexpr std::int64_t kMostDivisor = std::int64_t{1} << 30;
inline constexpr std::size_t kMostExpressions = 1 << 16, kMostTerms = 128, kMostFactors = 16;

}  // namespace octavo

#endif  // OCTAVO_BASE_SIZE_LIMITS_H_
