// Sizes in whole cache lines. Part of kernels/.
#ifndef OCTAVO_KERNELS_CACHE_LINE_H_
#define OCTAVO_KERNELS_CACHE_LINE_H_

#include <cstdint>

namespace octavo {

inline constexpr std::int64_t kLineBytes = 64;

// The bytes of the lines that hold `bytes`: parts of a scratch that lie behind each other each begin a line.
constexpr std::int64_t whole_lines(std::int64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CACHE_LINE_H_
